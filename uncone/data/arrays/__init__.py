"""Working memory: reused buffers, memory-mapped rows, sums over bags of rows."""
