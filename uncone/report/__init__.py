"""One versioned summary, many renderings."""
