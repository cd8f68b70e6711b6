"""Running a statistic over a stream, in threads or on a cluster, with the same digits."""
