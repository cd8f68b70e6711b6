"""The JSON Schema of results."""
