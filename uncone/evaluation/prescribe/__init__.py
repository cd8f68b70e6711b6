"""The choice of a repair by held-out pairs, or of none."""
