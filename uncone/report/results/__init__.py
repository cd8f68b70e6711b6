"""Results: what each verb returns."""
