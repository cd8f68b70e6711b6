"""Repairs for systems that do not run uncone: sentence-transformers, ONNX, faiss, plain numpy, SQL."""
