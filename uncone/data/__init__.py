"""Sources of vectors and texts, and the batches that they are read as."""
