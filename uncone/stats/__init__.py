"""Batch -> mergeable state: one statistic per file."""
