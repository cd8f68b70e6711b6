"""What a score means: scores of unrelated pairs, thresholds, and probabilities from labeled pairs."""
