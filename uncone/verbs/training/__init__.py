"""Training: `tune` and `ablate`."""
