"""A measured space: its geometry, norms and the health of its data."""
