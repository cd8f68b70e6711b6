"""Texts of a table compared with each other: pairs, labels, groups, heatmaps."""
