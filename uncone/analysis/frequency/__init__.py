"""Word frequency and its bias: counts, correlations, logits."""
