"""Measures: each declared once, with its title, unit, definition, paper, and where it is shown."""
