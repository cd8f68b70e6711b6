"""The same `measure`, by threads or by processes, with the same digits."""
