"""Repairs as sentence-transformers folders."""
