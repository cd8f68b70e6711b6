"""Tasks with labels, and the vectors of their texts at every layer of a model: what `benchmarks.advice` measures on."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from uncone.analysis.cosine.units import pair_cosines, unit_rows
from uncone.data.batch import Matrix
from uncone.data.demo import demo_model
from uncone.data.tasks.labeled import open_labeled
from uncone.data.tasks.retrieval import open_retrieval
from uncone.data.tasks.sts import STS, open_pairs
from uncone.data.texts.corpora import open_corpus
from uncone.data.texts.texts import ListTexts
from uncone.encoders.open import open_encoder
from uncone.encoders.pooling import Pooling
from uncone.encoders.text_vectors import EncodedTexts
from uncone.evaluation.static_means import static_means
from uncone.evaluation.tasks.retrieve import retrieve

SHARED = ("bert-tiny", "bert-mini", "stories-15m")
"""Models beside the data."""

NEIGHBORS = 5
"""The nearest neighbors whose majority names the class of a sentence."""

Vectors = Callable[[Sequence[str]], Matrix]


@dataclass(frozen=True)
class Task:
    """A labeled task: its use, the texts that a repair is fitted on, all texts, and the score of their vectors.

    `score` gets a function from texts to vectors and returns points, 0 to 100.
    """

    name: str
    use: str
    own: Sequence[str]
    texts: Sequence[str]
    score: Callable[[Vectors], float]


def tasks(cap: int, *, seed: int = 0) -> list[Task]:
    """STS12 to 16, STS-B and SICK-R, SNLI, Cranfield and SST-2, of which at most `cap` pairs or texts."""
    rng = np.random.default_rng(seed)
    return [*(_sts(name, cap, rng) for name in STS), _snli(cap, rng), _cranfield(), _sst2(2 * cap, rng)]


def other_texts(cap: int, *, seed: int = 0) -> list[str]:
    """Sentences of WikiText-2: texts that have nothing to do with a task."""
    lines = [text for _, text, _ in open_corpus("wikitext2").read()]
    sentences = [part.strip() for line in lines for part in line.split(" . ")]
    own = list(dict.fromkeys(part for part in sentences if len(part.split()) >= 5))
    return _drawn(own, cap, np.random.default_rng(seed))


def _drawn(items: Sequence[str], cap: int, rng: np.random.Generator) -> list[str]:
    places = range(len(items)) if len(items) <= cap else np.sort(rng.choice(len(items), cap, replace=False))
    return [items[i] for i in places]


def distinct(*sides: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(text.strip() for side in sides for text in side if text.strip()))


def _sts(name: str, cap: int, rng: np.random.Generator) -> Task:
    from scipy.stats import spearmanr

    pairs = open_pairs(name)
    places = np.sort(rng.choice(len(pairs), min(cap, len(pairs)), replace=False))
    left, right = ([side[i].strip() for i in places] for side in (pairs.left, pairs.right))

    def score(vectors: Vectors) -> float:
        return 100 * float(spearmanr(pair_cosines(vectors(left), vectors(right)), pairs.scores[places]).statistic)

    texts = distinct(left, right)
    return Task(name, "similarity", texts, texts, score)


def _snli(cap: int, rng: np.random.Generator) -> Task:
    from sklearn.metrics import roc_auc_score

    rows = (Path(os.environ["UNCONE_DATA"]) / "snli" / "test.tsv").read_text().splitlines()
    triples = [row.split("\t") for row in rows]
    triples = [triple for triple in triples if triple[0] in ("entailment", "contradiction")]
    drawn = [triples[i] for i in np.sort(rng.choice(len(triples), min(cap, len(triples)), replace=False))]
    labels, left, right = ([triple[i].strip() for triple in drawn] for i in range(3))

    def score(vectors: Vectors) -> float:
        cosines = pair_cosines(vectors(left), vectors(right))
        return 100 * float(roc_auc_score([label == "entailment" for label in labels], cosines))

    texts = distinct(left, right)
    return Task("snli", "similarity", texts, texts, score)


def _cranfield() -> Task:
    task = open_retrieval("cranfield")
    queries, docs = ([text.strip() for text in side] for side in (task.queries, task.docs))

    def score(vectors: Vectors) -> float:
        found = retrieve(task, vectors(queries), vectors(docs), replicates=2)
        return 100 * float(found.scores["ndcg@10"].value or 0.0)

    return Task("cranfield", "search", distinct(docs), distinct(docs, queries), score)


def _sst2(cap: int, rng: np.random.Generator) -> Task:
    index, queries = open_labeled("sst2:train"), open_labeled("sst2:dev")
    known = dict(zip((text.strip() for text in index.texts), index.labels, strict=True))
    questions = dict(zip((text.strip() for text in queries.texts), queries.labels, strict=True))
    texts = _drawn([text for text in known if text not in questions], cap, rng)
    truth, classes = (
        np.array([label == "1" for label in questions.values()]),
        np.array([known[t] == "1" for t in texts]),
    )

    def score(vectors: Vectors) -> float:
        cosines = unit_rows(vectors(list(questions))) @ unit_rows(vectors(texts)).T
        nearest = np.argpartition(-np.nan_to_num(cosines, nan=-2.0), NEIGHBORS, axis=1)[:, :NEIGHBORS]
        return 100 * float(((classes[nearest].mean(axis=1) > 0.5) == truth).mean())

    return Task("sst2", "classes", texts, distinct(texts, list(questions)), score)


@dataclass(frozen=True)
class Layer:
    """The vectors of texts at one layer of a model; `input` is the mean of its static input embeddings."""

    model: str
    name: str
    rows: Mapping[str, int]
    matrix: Matrix
    last: bool = False

    def vectors(self, texts: Sequence[str]) -> Matrix:
        """The vectors (n, d) of the texts; NaN for blank ones."""
        places = np.fromiter((self.rows.get(text, -1) for text in texts), np.int64, len(texts))
        vectors: Matrix = np.full((len(texts), self.matrix.shape[1]), np.nan, np.float32)
        vectors[places >= 0] = self.matrix[places[places >= 0]]
        return vectors


def model_folders(folder: Path | None) -> dict[str, Path]:
    """The shared models, and those in a further folder."""
    shared = Path(os.environ["UNCONE_DATA"]).parent / "models"
    further = [] if folder is None else sorted(path for path in folder.iterdir() if (path / "config.json").is_file())
    own = {name: shared / name for name in SHARED} | {"all-MiniLM-L6-v2": demo_model()}
    return own | {path.name: path for path in further}


def layers(name: str, folder: Path, texts: Sequence[str], cache: Path | None) -> Iterator[Layer]:
    """Every layer of a model, encoded in one pass; the last layer of a sentence encoder is its output."""
    rows = {text: row for row, text in enumerate(texts)}
    parts = _cached(name, folder, texts, cache)
    for place, (layer, matrix) in enumerate(parts.items()):
        yield Layer(name, layer, rows, matrix, place == len(parts) - 1)


def _cached(name: str, folder: Path, texts: Sequence[str], cache: Path | None) -> dict[str, NDArray[np.float32]]:
    digest = hashlib.sha256("\0".join([str(folder), *texts]).encode()).hexdigest()[:16]
    path = None if cache is None else cache / f"{name}-{digest}.npz"
    if path is not None and path.is_file():
        with np.load(path) as stored:
            return {layer: stored[layer] for layer in stored.files}
    encoder = open_encoder(folder)
    whole = EncodedTexts(ListTexts(texts), encoder, Pooling(tuple(range(encoder.layers))), separate=True)
    matrix = np.concatenate([np.array(block.vectors, np.float32) for block in whole.read()])
    parts = {"input": static_means(encoder, texts)}
    parts |= {str(i): part for i, part in enumerate(np.split(matrix, encoder.layers, axis=1))}
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, **parts)
    return parts
