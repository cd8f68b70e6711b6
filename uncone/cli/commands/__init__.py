"""One command per verb: its arguments, and what it does with the result."""
