"""Writers of vectors: complete files or none."""
