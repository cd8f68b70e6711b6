"""What flows: sources of vectors, and the batches they are read as."""
