"""Texts to vectors: transformers at every layer, static word vectors, ELMo; tokens to words."""
