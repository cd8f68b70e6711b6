"""Encoded texts, cached on disk."""
