"""Repairs as ONNX files."""
