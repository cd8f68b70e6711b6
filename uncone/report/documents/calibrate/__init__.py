"""The document of `calibrate`: sentences, tables and charts."""
