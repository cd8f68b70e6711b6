"""The tables of the papers: published figures, the layouts, and the suite that fills them for a model."""
