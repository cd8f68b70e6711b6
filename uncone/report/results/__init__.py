"""Results: what each verb returns, with its numbers and its document."""
