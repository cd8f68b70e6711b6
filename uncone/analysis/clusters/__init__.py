"""Clusters of a layer: how many, what they hold, and what they explain."""
