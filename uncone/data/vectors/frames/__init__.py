"""Data frames of clusters: Ray Data, Dask and Spark, read as a stream of Arrow batches."""
