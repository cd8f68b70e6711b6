"""Vectors in databases: PostgreSQL with pgvector, DuckDB, LanceDB, Qdrant and Chroma, each read as a stream."""
