"""The document of `map`: sentences, colors, clouds of points, and pictures for a paper."""
