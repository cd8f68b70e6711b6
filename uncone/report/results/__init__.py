"""Results: what each verb returns, with its numbers as JSON."""
