"""What a row is: a text, a word, a token."""
