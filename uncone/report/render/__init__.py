"""Renderers: one each for the terminal, markdown, HTML, notebooks and LaTeX, for the documents of every verb."""
