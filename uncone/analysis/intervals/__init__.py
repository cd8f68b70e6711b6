"""Intervals: sampling units, bootstrap draws, correlations of labeled pairs."""
