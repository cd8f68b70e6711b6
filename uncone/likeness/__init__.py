"""Texts of a table against each other: pairs, labels, groups, and why their cosines look random."""
