"""The tables and pictures of docs/gallery.md: real models on WikiText-2. Needs $UNCONE_DATA and its models."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.page import put
from uncone import fix, layers, map
from uncone.analysis.layers.deep_results import Dimension
from uncone.data.demo import demo_model
from uncone.encoders.encoder import Encoder
from uncone.encoders.open import open_encoder
from uncone.report.documents.layers import LayerStudy
from uncone.report.documents.map import Map

CORPUS = "wikitext2"

PAGE = Path(__file__).parents[1] / "docs" / "gallery.md"
PICTURES = PAGE.parent / "gallery"
COLORS = 96
"""Of a stored picture: points need few, and the files stay small."""


def encoders() -> dict[str, Encoder]:
    models = Path(os.environ["UNCONE_DATA"]).parent / "models"
    folders = {name: models / name for name in ("bert-tiny", "bert-mini", "stories-15m")}
    return {name: open_encoder(folder) for name, folder in {**folders, "all-MiniLM-L6-v2": demo_model()}.items()}


def dimensions(studies: dict[str, LayerStudy]) -> str:
    most = max(len(study.layers) for study in studies.values())
    lines = [
        _row(["model", "distance", "input embeddings", *(f"layer {i}" for i in range(most))]),
        "|---" * (most + 3) + "|",
    ]
    for name, study in studies.items():
        deep = study.deep
        assert deep is not None
        for metric in ("euclidean", "cosine"):
            table = None if deep.table is None else deep.table.dimensions[metric]
            cells = [_dimension(table), *(_dimension(layer.dimensions[metric]) for layer in deep.layers)]
            lines.append(_row([name, metric, *cells, *[""] * (most + 1 - len(cells))]))
    return "\n".join(lines)


def clusters(studies: dict[str, LayerStudy]) -> str:
    head = ["model", "layer", "clusters", "silhouette", "S_inter, raw", "centered", "within clusters"]
    head += ["within centered clusters", "words typical of the largest clusters"]
    lines = [_row(head), "|---" * len(head) + "|"]
    for name, study in studies.items():
        assert study.deep is not None
        for layer in study.deep.layers:
            own = layer.clusters
            # The best k that was tried, where none is good enough to count.
            silhouette = own.silhouette if own.silhouette is not None else max(own.tried.values(), default=None)
            cosines = (own.raw, own.global_, own.within_raw, own.within)
            typical = "; ".join(f"{cluster.share:.0%}: {', '.join(cluster.words[:4])}" for cluster in own.clusters[:4])
            words = typical if own.k > 1 else ""
            numbers = [_number(cosine.inter) for cosine in cosines]
            lines.append(_row([name, str(layer.number), str(own.k), _number(silhouette), *numbers, _plain(words)]))
    return "\n".join(lines)


def others(studies: dict[str, LayerStudy]) -> str:
    head = ["model", "layer", "hubness", "anti-hubs", "log-frequency and norm, r"]
    head += ["log-frequency from norm and 10 components, R²", "LID/flat", "position and angle, r", "curved?"]
    lines = [_row(head), "|---" * len(head) + "|"]
    for name, study in studies.items():
        assert study.deep is not None
        for layer in study.deep.layers:
            hubs, often, sheet = layer.hubness, layer.frequency, layer.manifold
            cells = [_number(hubs.skew), "–" if hubs.antihubs is None else f"{hubs.antihubs:.0%}"]
            cells += ["–", "–"] if often is None else [_number(often.norm_r), _number(often.explained)]
            cells += [_number(sheet.ratio), _number(sheet.angle_r), "yes" if sheet.visible else "no"]
            lines.append(_row([name, str(layer.number), *cells]))
    return "\n".join(lines)


def _dimension(dimension: Dimension | None) -> str:
    return "–" if dimension is None or dimension.value is None else f"{dimension.value:.1f}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def story(studies: dict[str, LayerStudy]) -> str:
    parts = []
    for name, study in studies.items():
        assert study.deep is not None
        # The texts are not ours to quote.
        sentences = [re.sub(r", most of all “.*?” \(\S+\)", "", sentence) for sentence in study.deep.story]
        parts.append("\n".join([f"**{name}**", "", *(f"- {_plain(sentence)}" for sentence in sentences)]))
    return "\n\n".join(parts)


def pictures(models: dict[str, Encoder]) -> None:
    """The maps of the page."""
    for name, encoder in models.items():
        picture = map(CORPUS, model=encoder, rows="words", layer="all", color="frequency", points=6_000)
        keep(f"{name}-frequency", picture)
    tiny, stories, minilm = (models[name] for name in ("bert-tiny", "stories-15m", "all-MiniLM-L6-v2"))
    keep("minilm-tsne-kind", map(CORPUS, model=minilm, rows="words", layer=-1, method="tsne", color="kind"))
    keep(
        "stories-position", map(CORPUS, model=stories, rows="words", layer="2", dims=3, color="position", points=6_000)
    )
    with TemporaryDirectory() as folder, chdir(folder):  # so that the picture names the repair and no folder of ours
        fix("snli", "droptop", model=tiny, layer=2, limit=5_000, save="droptop")
        picture = map("snli", model=tiny, layer=2, limit=5_000, repair="droptop", color="cluster", points=4_000)
        keep("bert-tiny-droptop", picture)


def keep(name: str, drawing: Map) -> None:
    from PIL import Image

    PICTURES.mkdir(exist_ok=True)
    data = next(data for file, data in drawing.pictures().items() if file.endswith(".png"))
    with Image.open(io.BytesIO(data)) as picture:
        picture.convert("RGB").quantize(COLORS).save(PICTURES / f"{name}.png", optimize=True)


def main() -> None:
    models = encoders()
    pictures(models)
    studies = {name: layers(encoder, CORPUS, deep=True) for name, encoder in models.items()}
    for mark, render in (("dimensions", dimensions), ("clusters", clusters), ("others", others), ("said", story)):
        text = render(studies)
        print(text, end="\n\n")
        put(text, f"gallery {mark}", PAGE)


if __name__ == "__main__":
    main()
