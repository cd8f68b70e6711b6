"""Evaluation tasks, one file each."""
