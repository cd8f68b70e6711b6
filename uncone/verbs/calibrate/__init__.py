"""`calibrate`: what a score means, and where to put the threshold."""
