"""Running a statistic over a stream, in threads or processes, with the same digits."""
