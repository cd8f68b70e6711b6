"""Similarity within and between labels."""
