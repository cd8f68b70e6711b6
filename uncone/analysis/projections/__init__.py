"""Vectors of many dimensions as points of two or three."""
