"""Texts to encode: files, tables, corpora; sentences, cleaning, selection."""
