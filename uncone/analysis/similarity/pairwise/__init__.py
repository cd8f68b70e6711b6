"""All pairs of vectors, block by block."""
