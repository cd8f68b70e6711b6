"""Evaluation of vectors on tasks, with intervals: similarity, classification, retrieval and words."""
