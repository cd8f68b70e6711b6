"""Ablations: what each layer, a biased training set, and a repair in the loop do to a model."""
