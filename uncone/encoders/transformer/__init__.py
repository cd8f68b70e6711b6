"""Hugging Face and sentence-transformers models."""
