"""Labeled pairs: curves, operating points, probabilities."""
