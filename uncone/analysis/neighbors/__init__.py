"""Nearest neighbors: search, local intrinsic dimension, hubness."""
