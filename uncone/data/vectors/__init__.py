"""Readers of vectors, one file per format."""
