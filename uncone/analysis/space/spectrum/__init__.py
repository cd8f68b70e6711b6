"""The spectrum of the covariance: effective rank, IsoScore, partition isotropy, and their intervals."""
