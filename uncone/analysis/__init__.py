"""Pure functions of statistics: measures, intervals, neighbors, clusters, calibration, similarity, projections."""
