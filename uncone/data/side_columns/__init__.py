"""Columns beside the vectors of a source: texts, labels, ids."""
