"""Evaluation of vectors that are given, without a model: search with relevance judgments, and pairs of rows."""
