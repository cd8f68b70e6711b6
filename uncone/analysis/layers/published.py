"""Published numbers beside which ours can be put: local dimensions, and the table of word frequency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["PUBLISHED_BIAS", "PUBLISHED_DIMENSIONS", "PublishedBias", "PublishedDimension"]

_CAI = "Cai et al. 2021, Isotropy in the Contextual Embedding Space: Clusters and Manifolds"
_FLOW = "Li et al. 2020, On the Sentence Embeddings from Pre-trained Language Models"


@dataclass(frozen=True)
class PublishedDimension:
    """A local dimension by cosine on squared distances: half of that on true distances. `dim` are the model's."""

    label: str
    model: str
    """The name that a model here would have."""
    kind: Literal["contextual", "static"]
    dim: int
    value: float
    source: str = _CAI


PUBLISHED_DIMENSIONS = (
    PublishedDimension("BERT", "bert-base-(un)?cased", "contextual", 768, 5.6),
    PublishedDimension("DistilBERT", "distilbert-base-(un)?cased", "contextual", 768, 7.3),
    PublishedDimension("GPT", "gpt", "contextual", 768, 6.8),
    PublishedDimension("GPT-2", "gpt2", "contextual", 768, 7.0),
    PublishedDimension("ELMo", "elmo", "contextual", 1024, 9.1),
    PublishedDimension("GloVe-100d", r"glove.*100d.*", "static", 100, 18.0),
    PublishedDimension("GloVe-300d", r"glove.*300d.*", "static", 300, 26.1),
    PublishedDimension("word2vec", r"googlenews.*|word2vec.*", "static", 300, 21.1),
)
"""The published table of contextual and static vectors."""


@dataclass(frozen=True)
class PublishedBias:
    """Mean norms, and mean distances and inner products to the k nearest by k, for the bins of frequency rank."""

    model: str
    norm: Sequence[float]
    distance: Mapping[int, Sequence[float]] = field(default_factory=dict)
    dot: Mapping[int, Sequence[float]] = field(default_factory=dict)
    source: str = _FLOW


PUBLISHED_BIAS = PublishedBias(
    "bert-base-uncased",
    (0.95, 1.04, 1.22, 1.45),
    {3: (0.77, 0.93, 1.16, 1.30), 5: (0.83, 0.99, 1.22, 1.34), 7: (0.87, 1.04, 1.26, 1.37)},
    {3: (0.73, 0.92, 1.20, 1.63), 5: (0.73, 0.91, 1.19, 1.61), 7: (0.72, 0.90, 1.17, 1.60)},
)
"""The word embeddings of BERT, by the frequency of words in Wikipedia."""
