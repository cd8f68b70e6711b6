"""Engines that run a fold: threads of this machine, or a Ray, Spark or Dask cluster."""
