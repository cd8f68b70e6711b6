"""The flow repair: an invertible network."""
