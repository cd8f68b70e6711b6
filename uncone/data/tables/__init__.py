"""The one reader of tables: CSV, TSV, JSON lines and Parquet, as a stream of blocks."""
