"""ELMo in its original format."""
