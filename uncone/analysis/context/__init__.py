"""Contextuality of words: self-similarity, intra-sentence similarity, explainable variance."""
