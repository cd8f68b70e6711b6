"""Statistics: small mergeable states that a stream of batches is folded into."""
