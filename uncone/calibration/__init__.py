"""What a score means: the scores of unrelated pairs, thresholds, and probabilities from labelled pairs."""
