"""Cosines of random pairs: the baseline, rogue dimensions, and what a score is worth as evidence."""
