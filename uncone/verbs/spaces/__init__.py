"""From sources, models and repairs to the vectors that verbs measure, and the verbs as functions of them."""
