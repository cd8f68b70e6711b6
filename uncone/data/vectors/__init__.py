"""Readers of vectors, one class per format."""
