"""Statistics of words and sentences."""
