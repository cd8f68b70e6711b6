"""The verbs, each a short composition of the rooms below."""
