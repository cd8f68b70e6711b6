"""The tables and pictures of docs/papers.md that are layers, maps and frequency. Needs $UNCONE_DATA and its models."""

from __future__ import annotations

import argparse
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.gallery import encoders
from benchmarks.page import put
from uncone import layer_papers, layers, map
from uncone.encoders.encoder import Encoder
from uncone.report.charts.files import write_figures
from uncone.report.document import Document, Section, Table
from uncone.report.documents.layers import LayerComparison
from uncone.report.documents.layers.papers import LayerPapers
from uncone.report.render.markdown import render

METHODS = "center,standardize,droptop,whiten,clustered,flow:epochs=1"
WORDS = ("the", "he", "city", "first", "water", "not")
"""Words whose MEV is followed."""
PAGE = Path(__file__).parents[1] / "docs" / "papers.md"
PICTURES = PAGE.parent / "papers"
COLORS, WIDTH = 64, 1_000
"""Of a stored picture: curves and points need few colors, and the files stay small."""
FIGURES = {
    "context-baseline": "baseline",
    "context-selfsim_adjusted": "selfsim",
    "context-intrasim_adjusted": "intrasim",
    "context-mev_adjusted": "mev",
    "clusters-s-inter": "s-inter",
    "clusters-s-intra": "s-intra",
    "clusters-lid_cosine": "lid",
}
"""Charts of the suite, and the names of their pictures."""


def keep(data: bytes, name: str) -> None:
    """Store a PNG with few colors."""
    from PIL import Image

    PICTURES.mkdir(exist_ok=True)
    with Image.open(io.BytesIO(data)) as picture:
        picture.thumbnail((WIDTH, 4 * WIDTH))
        picture.convert("RGB").quantize(COLORS).save(PICTURES / f"{name}.png", optimize=True)


def pictures(papers: LayerPapers) -> None:
    """The charts of the suite, word by word and by frequency for the first model, and a Swiss roll."""
    names = dict(FIGURES)
    last = len(papers.parts) // 2 + 1  # the first model on WikiText-2
    names[f"context-word-mev-{last}"] = "word-mev"
    names |= {"frequency-ties-1": "frequency-ties", "frequency-scatter-1": "frequency-scatter"}
    charts = [replace(chart, name=names[chart.name]) for chart in papers.document().charts() if chart.name in names]
    with TemporaryDirectory() as folder:
        for path in write_figures(charts, Path(folder)):
            if path.suffix == ".png":
                keep(path.read_bytes(), path.stem)


def maps(models: Mapping[str, Encoder], texts: int) -> None:
    """Symbols against words, word frequency, and the roll of stories-15m."""
    options = {"rows": "words", "sample": texts, "points": 6_000}
    drawing = map([*models.values()], corpus="wikitext2", kinds="symbols,words", **options)
    for name in ("kind", "frequency"):
        files = drawing.pictures(coloring=name)
        keep(next(data for file, data in files.items() if file.endswith(".png")), f"panels-{name}")
    roll = map("wikitext2", model=models["stories-15m"], layer=2, dims=3, color="position", **options)
    keep(next(data for file, data in roll.pictures(2).items() if file.endswith(".png")), "roll")


def as_markdown(tables: Sequence[Table]) -> str:
    """Tables as the report writes them."""
    text = render(Document("", "", "", [], [Section("", tables)]))
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(("**", "|", "###")))
    return "\n".join(lines[start:]).strip()


def tables(papers: LayerPapers) -> dict[str, str]:
    """The tables of each part of the page."""
    sections = {section.name: section for section in papers.document().sections}
    context = [block for block in sections["context"].brief if isinstance(block, Table)]
    clusters = [block for block in sections["clusters"].brief if isinstance(block, Table)]
    frequency = [block for block in sections["frequency"].brief if isinstance(block, Table)]
    bins, *outcomes = [_without_intervals(table) for table in frequency]
    return {
        "context": as_markdown(context),
        "clusters": as_markdown([table for table in clusters if table.name in ("s-inter", "lid")]),
        "bins": as_markdown([bins]),
        "repairs": as_markdown(outcomes),
    }


def _without_intervals(table: Table) -> Table:
    return replace(
        table, rows=[replace(row, cells=[replace(cell, small="") for cell in row.cells]) for row in table.rows]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=800)
    parser.add_argument("--sample", type=int, default=4_000)
    arguments = parser.parse_args()
    models, options = encoders(), {"sample": arguments.texts, "words": WORDS}
    every = [*models.values()]
    # Of STS, only the first paper; what lies behind the cone is measured on WikiText-2.
    sts = [layers(model, "sts", **options) for model in every]
    behind = layer_papers(every, ["wikitext2"], METHODS, deep=True, deep_sample=arguments.sample, **options)
    papers = replace(behind, comparison=LayerComparison([*sts, *behind.parts], []))
    pictures(papers)
    for mark, text in tables(papers).items():
        print(text, end="\n\n")
        put(text, f"papers {mark}", PAGE)
    maps(models, arguments.texts)


if __name__ == "__main__":
    main()
