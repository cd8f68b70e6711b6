"""Training: tuning against the cone, and ablations of layers, data and repairs."""
