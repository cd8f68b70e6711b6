"""Samples and fingerprints of rows."""
