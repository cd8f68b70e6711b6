"""Manifolds: whether vectors lie on a curved sheet."""
