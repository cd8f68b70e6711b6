"""Statistics -> findings: one file per subject."""
