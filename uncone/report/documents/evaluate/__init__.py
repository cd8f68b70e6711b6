"""The document of an evaluation: scores, sentences, tables and charts of methods and datasets."""
