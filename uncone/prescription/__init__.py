"""Which repair, with held-out proof, or none at all."""
