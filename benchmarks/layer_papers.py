"""The tables and pictures of docs/papers.md that are layers, maps and frequency. Needs $UNCONE_DATA and its models."""

from __future__ import annotations

import argparse
import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.gallery import encoders
from benchmarks.page import put
from uncone import layer_papers, map
from uncone.report.charts.files import write_figures
from uncone.report.document import Document, Section, Table
from uncone.report.documents.layers.papers import LayerPapers
from uncone.report.render.markdown import render

CORPORA = ("sts", "wikitext2")
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
EMBEDDINGS, SHORT = "input embeddings", "on wikitext2"


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
    place = next(i for i, space in enumerate(papers.frequency, 1) if SHORT in space.study and space.space == EMBEDDINGS)
    names |= {f"frequency-ties-{place}": "frequency-ties", f"frequency-scatter-{place}": "frequency-scatter"}
    charts = [replace(chart, name=names[chart.name]) for chart in papers.document().charts() if chart.name in names]
    with TemporaryDirectory() as folder:
        for path in write_figures(charts, Path(folder)):
            if path.suffix == ".png":
                keep(path.read_bytes(), path.stem)


def maps(limit: int) -> None:
    """Symbols against words, word frequency, and the roll of stories-15m."""
    models = encoders()
    every = list(models.values())
    for name, options in {"symbols": {"kinds": "symbols,words"}, "frequency": {"color": "frequency"}}.items():
        drawing = map(every, corpus="wikitext2", sample=limit, points=8_000, **options)
        keep(next(data for file, data in drawing.pictures().items() if file.endswith(".png")), f"panels-{name}")
    roll = map("wikitext2", model=models["stories-15m"], rows="words", layer=2, dims=3, color="position", points=6_000)
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
    bins, *outcomes = [_on_wikitext(table) for table in frequency]
    on_wikitext = [table for table in outcomes if SHORT in table.title]
    return {
        "context": as_markdown(context),
        "clusters": as_markdown([table for table in clusters if table.name in ("s-inter", "lid")]),
        "bins": as_markdown([bins]),
        "repairs": as_markdown(on_wikitext),
    }


def _on_wikitext(table: Table) -> Table:
    """The rows of a table under the headings of one corpus, and the published ones."""
    rows, shown = [], True
    for row in table.rows:
        if len(row.cells) == 1:
            text = row.cells[0].text
            shown = SHORT in text or "published" in text
        if shown:
            rows.append(replace(row, cells=[replace(cell, small="") for cell in row.cells]))
    return replace(table, rows=rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=2_500)
    parser.add_argument("--sample", type=int, default=15_000)
    arguments = parser.parse_args()
    models = list(encoders().values())
    options = {"sample": arguments.texts, "deep": True, "deep_sample": arguments.sample, "words": WORDS}
    papers = layer_papers(models, CORPORA, **options)
    pictures(papers)
    for mark, text in tables(papers).items():
        print(text, end="\n\n")
        put(text, f"papers {mark}", PAGE)
    maps(arguments.texts)


if __name__ == "__main__":
    main()
