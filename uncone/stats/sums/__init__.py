"""Statistics that are sums: moments, unit sums, cosines, norms."""
