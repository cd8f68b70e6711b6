"""Results of trainings as they are stored: probes of `tune`, and the finished runs of `ablate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from uncone.errors import OptionError

if TYPE_CHECKING:
    from uncone.tuning.tasks import Items

__all__ = [
    "Agreement",
    "ContextTrace",
    "DrawRun",
    "LabelTrace",
    "LayerGeometry",
    "LayerRun",
    "LayerTrace",
    "Probe",
    "RepairRun",
    "Skew",
]


@dataclass(frozen=True)
class Probe:
    """The state of a model after `step` steps, on held-out texts.

    `baseline` is the mean cosine of two texts, `alignment` the mean squared distance of positive pairs at length 1, or
    of two dropout views; `dev` the rank correlation with the labels of the dev pairs.
    """

    step: int
    baseline: float | None
    isoscore: float | None
    uniformity: float | None
    alignment: float | None
    dev: float | None


@dataclass(frozen=True)
class Skew:
    """What is skewed: the label, or another column; the value that becomes too frequent, and its share."""

    share: float = 0.95
    value: str | None = None
    column: str | None = None

    @classmethod
    def parse(cls, text: str) -> Skew:
        """From COLUMN=VALUE:SHARE.

        >>> Skew.parse("topic=politics:0.9")
        Skew(share=0.9, value='politics', column='topic')

        Raises:
            OptionError: not of that form.
        """
        column, equals, rest = text.partition("=")
        value, colon, share = rest.rpartition(":")
        try:
            number = float(share)
        except ValueError:
            number = 0.0
        if not (equals and colon and column.strip() and value.strip()) or not 0 < number < 1:
            raise OptionError(f"--skew-by {text!r}: write COLUMN=VALUE:SHARE, such as topic=politics:0.9.")
        return cls(number, value.strip(), column.strip())

    def values(self, items: Items) -> Sequence[str]:
        """The value of every item in the column that is skewed."""
        return items.labels if self.column is None else items.columns[self.column]


@dataclass(frozen=True)
class LayerTrace:
    """A layer after training.

    `cka` is with the balanced model of the same seed (None for itself), `probe` what a linear probe finds of the class,
    and `baseline` the mean cosine of two texts.
    """

    cka: float | None
    probe: float | None
    baseline: float | None
    isoscore: float | None


@dataclass(frozen=True)
class DrawRun:
    """One training, as it is stored. Predictions are classes by number; a contrastive training has none."""

    objective: str
    draw: str
    seed: int
    counts: Mapping[str, int]
    predictions: Sequence[int]
    layers: Sequence[LayerTrace]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values, to be stored as JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> DrawRun:
        """The run back from its stored values."""
        return cls(**{**values, "layers": [LayerTrace(**layer) for layer in values["layers"]]})


@dataclass(frozen=True)
class ContextTrace:
    """The last layer on words of the test texts: random words, a word with itself, and the words of a sentence.

    Self-similarity is adjusted by the baseline, intra-sentence similarity by as many unrelated words.
    """

    baseline: float | None
    selfsim: float | None
    intrasim: float | None


@dataclass(frozen=True)
class LayerRun:
    """One training, as it is stored: predicted classes, and the last layer before and after."""

    variant: str
    seed: int
    predictions: Sequence[int]
    correct: int
    before: ContextTrace
    after: ContextTrace
    seconds: float

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> LayerRun:
        """The run back from its stored values."""
        traces = {name: ContextTrace(**values[name]) for name in ("before", "after")}
        return cls(**{**values, **traces})


@dataclass(frozen=True)
class LayerGeometry:
    """The CLS vectors of the test texts after an epoch, by layer from the embeddings on.

    `log10_isotropy` is log10 I(W), and `offset` the distance from zero mean, |mean| over the rms norm.
    """

    epoch: int
    log10_isotropy: Sequence[float]
    offset: Sequence[float]


@dataclass(frozen=True)
class Agreement:
    """How well the clusters within a batch match the classes, averaged over batches.

    `ami` is the adjusted mutual information: 0 by chance, 1 if they are the same. `purity` is the share of texts in
    the majority class of their cluster, and `chance` the same with shuffled labels.
    """

    ami: float
    purity: float
    chance: float


@dataclass(frozen=True)
class LabelTrace:
    """The share of test texts whose class a linear probe finds, by cross-validation: in CLS, and in what the head sees.

    `control` is the same after the repair of each batch with random clusters of the same sizes; None for other modes
    and for a single cluster.
    """

    before: float
    after: float
    control: float | None


@dataclass(frozen=True)
class RepairRun:
    """A trained model on the test set, as it is stored: predicted classes, isotropy and dependence on batches.

    `log10_isotropy` is of what the head sees. `moved` is the share of predictions that change when the same texts come
    in other batches, `moved_alone` when each comes alone. `clusters` are the agreements by the number of clusters.
    """

    method: str
    seed: int
    predictions: Sequence[int]
    log10_isotropy: float
    layers: Sequence[LayerGeometry]
    moved: float
    moved_alone: float
    clusters: Mapping[str, Agreement]
    label: LabelTrace | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, to be stored as JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RepairRun:
        """The run back from its stored values."""
        layers = [LayerGeometry(**layer) for layer in values["layers"]]
        clusters = {k: Agreement(**agreement) for k, agreement in values["clusters"].items()}
        label = None if values.get("label") is None else LabelTrace(**values["label"])
        return cls(**{**values, "layers": layers, "clusters": clusters, "label": label})
