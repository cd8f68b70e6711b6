"""Documents of `ablate`: layers, data and repair."""
