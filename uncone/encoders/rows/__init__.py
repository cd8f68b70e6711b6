"""Rows of a text: which tokens make a row, and what is known of it."""
