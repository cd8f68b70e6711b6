"""Projections of the rows of a similarity as plotly figures."""

from __future__ import annotations

from uncone.data.batch import Matrix
from uncone.report.grid_charts import Figure
from uncone.report.similar import Similarity
from uncone.report.similar_heatmap import packed
from uncone.report.similar_lines import unit
from uncone.report.similar_palette import Palette, palettes

__all__ = ["PROJECTIONS", "maps"]

PROJECTIONS = {"pca": "PCA", "tsne": "t-SNE", "umap": "UMAP"}
_MOST_SVG = 2_500
"""Points that are drawn without WebGL, of which a page can only have a few."""


def maps(result: Similarity) -> list[Figure]:
    """A chart for every projection; colours and texts are filled in by the page, which has them once."""
    shown = palettes(result)
    made = [_map(result, key, points, shown[0] if shown else None) for key, points in result.projections.items()]
    made.sort(key=lambda one: one["lazy"])
    return [{**one, "wide": len(made) == 1} for one in made]


def _map(result: Similarity, key: str, points: Matrix, palette: Palette | None) -> Figure:
    method, _, dims = key.partition("-")
    rows = result.projected
    in_space = points.shape[1] == 3
    colour = "accent" if palette is None else [palette.colours[palette.members[int(row)]] for row in rows]
    kind = "scatter3d" if in_space else "scatter" if len(points) <= _MOST_SVG else "scattergl"
    size = 2.6 if in_space else 5 if len(points) <= 1_000 else 3.5
    data: Figure = {
        "type": kind,
        "mode": "markers",
        **{axis: packed(points[:, place]) for place, axis in enumerate("xyz"[: points.shape[1]])},
        "marker": {"color": colour, "size": size, "opacity": 0.85, "line": {"width": 0}},
        "hoverinfo": "none",
    }
    bare = {"showticklabels": False, "showline": False, "ticks": "", "zeroline": False, "title": {"text": ""}}
    axes = {"gridcolor": "rule", "showbackground": False, "showspikes": False, **bare}
    scene = {"scene": {"aspectmode": "cube", "xaxis": axes, "yaxis": axes, "zaxis": axes}} if in_space else {}
    layout = {
        "xaxis": {**bare, "showgrid": False},
        "yaxis": {**bare, "showgrid": False},
        "hovermode": "closest",
        "showlegend": False,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        **scene,
    }
    name = PROJECTIONS.get(method, method)
    told = f"{len(points):,} {unit(result)}s in {'space: drag to turn' if in_space else 'the plane'}."
    return {
        "id": f"map-{key}",
        "title": f"{name}, {dims or points.shape[1]}-D",
        "alt": told,
        "data": [data],
        "layout": layout,
        "lazy": in_space or kind == "scattergl",
        "height": 420,
    }
