"""Affine repairs: a mean and a matrix."""
