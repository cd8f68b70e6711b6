"""Charts: declared once as plain values, drawn by plotly on pages, by matplotlib in figures, and as CSV."""
