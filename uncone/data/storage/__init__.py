"""Where files are: local paths, and objects in storage such as S3, behind the same interface."""
