"""From sources, models and repairs to the vectors that verbs measure."""
