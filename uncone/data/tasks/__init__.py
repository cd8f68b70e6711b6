"""Labeled data of evaluation tasks."""
