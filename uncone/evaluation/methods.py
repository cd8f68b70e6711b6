"""Repair methods under evaluation: those of the literature, or a list from the user, and how each is fitted."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from uncone.analysis.space.spectrum.isotropy import PartitionIsotropy, partition_isotropy
from uncone.data.batch import Matrix
from uncone.data.storage.path import path_of
from uncone.data.tasks.sts import open_pairs
from uncone.data.texts.texts import open_texts
from uncone.encoders.encoder import Encoder, EncoderIdentity
from uncone.errors import ColumnError, NoUsableRowsError, OptionError, OtherSpaceError
from uncone.evaluation.spaces import Settings, Space, open_spaces
from uncone.evaluation.static_means import static_means
from uncone.evaluation.table import Method
from uncone.repairs.registry import KINDS, make, make_seeded
from uncone.repairs.repair import Repair
from uncone.repairs.saving import load

__all__ = [
    "PROTOCOLS",
    "RAW",
    "SIDES",
    "STATIC",
    "Fits",
    "fit_texts",
    "has_random_start",
    "level_for",
    "parse_methods",
    "prepare",
    "standard_methods",
    "with_raw",
    "with_sides",
]

PROTOCOLS = ("inductive", "transductive")

SIDES = ("together", "separate")
"""One repair for queries and documents, fitted on the documents; or one for each side, fitted on that side."""

RAW = Method("raw")
"""The vectors as they are."""

STATIC = Method("static mean", repair="static")
"""The mean of static vectors: the model's own input embeddings, or a file of word vectors."""

_WIDE = 256
_TRAIN = ("stsb:train", "sickr:train")


def standard_methods(
    dim: int, level: str = "sentence", *, gmm: bool = True, static: bool = False, protocol: str = "inductive"
) -> list[Method]:
    """The methods of the literature for vectors of `dim` dimensions; `gmm` takes longest and can be left out.

    >>> [method.name for method in standard_methods(384, gmm=False)][:6]
    ['raw', 'center', 'standardize', 'droptop', 'whiten', 'whiten 256']
    """
    p = min(12, max(1, dim // 8))
    listed: list[tuple[str, str, dict[str, Any]]]
    listed = [(kind, kind, {}) for kind in ("center", "standardize", "droptop", "whiten")]
    listed += [("whiten 256", "whiten", {"dim": _WIDE})] if dim > _WIDE else []
    listed += [
        ("mute", "mute", {}),
        ("k-means, means only", "clustered", {"k": 27, "p": 0}),
        ("k-means + PCA", "clustered", {"k": 27, "p": p}),
        *([("GMM + PCA", "clustered", {"k": 27, "p": p, "assign": "gmm"})] if gmm else []),
        ("k-means, k=1", "clustered", {"k": 1, "p": p}),
        ("flow", "flow", {}),
        *([("SIF", "sif", {}), ("Zipfian whitening", "zipf", {})] if level == "token" else []),
    ]
    methods = [Method(name, kind, options, level=level, protocol=protocol) for name, kind, options in listed]
    return [replace(RAW, level=level), *([replace(STATIC, level=level)] if static else []), *methods]


def parse_methods(text: str | Iterable[str | Method], *, protocols: Sequence[str] = ("inductive",)) -> list[Method]:
    """The methods of a list such as `raw,center,droptop:k=15,clustered:k=27;p=0,droptop+whiten,my/repair/`.

    Commas part methods, `+` joins the steps of a chain, and options follow a colon with semicolons between them. A
    folder is a repair that was saved; `static` is the mean of the model's input embeddings, `static:file=glove.txt`
    that of word vectors. Each method is tried under all of `protocols`, or under that which it names:
    `whiten@transductive`.

    >>> [(method.name, dict(method.options)) for method in parse_methods("raw,clustered:k=27;p=0")]
    [('raw', {}), ('clustered k=27 p=0', {'k': 27, 'p': 0})]

    Raises:
        OptionError: an unknown method, option or protocol.
        DamagedRepairError: a folder holds no whole repair.
    """
    parts = [part.strip() for part in text.split(",")] if isinstance(text, str) else list(text)
    methods: list[Method] = []
    for part in parts:
        if isinstance(part, Method):
            methods.append(part)
        elif part:
            methods += _parse(part, protocols)
    if not methods:
        raise OptionError("The list of methods is empty. Try raw,center,whiten.")
    return list({(method.name, method.protocol): method for method in methods}.values())


def _parse(part: str, protocols: Sequence[str]) -> list[Method]:
    if _folder(part) is not None:
        return [_saved_method(part)]
    body, _, suffix = part.partition("@")
    for protocol in [suffix] if suffix else protocols:
        if protocol not in PROTOCOLS:
            raise OptionError(f"There is no protocol {protocol!r}; choose from {' and '.join(PROTOCOLS)}.")
    name, _, settings = body.partition(":")
    options = dict(_option(setting, part) for setting in settings.split(";") if setting.strip())
    name = name.strip()
    if name == "raw" and not options:
        return [RAW]
    label = " ".join([name, *(f"{key}={value}" for key, value in options.items())])
    if name == "static":
        if set(options) - {"file"}:
            raise OptionError(f"static takes file=PATH and nothing else, not {part!r}.")
        return [replace(STATIC, name=STATIC.name if not options else label, options=options)]
    kind = name.replace("+", ",")
    make(kind, **options)  # raises if an option is wrong
    return [Method(label, kind, options, protocol=protocol) for protocol in ([suffix] if suffix else protocols)]


def _option(text: str, part: str) -> tuple[str, Any]:
    key, equals, value = (field.strip() for field in text.partition("="))
    if not equals or not key or not value:
        raise OptionError(f"{part!r}: options are name=value with semicolons between them, as in whiten:dim=64.")
    try:
        return key, json.loads({"none": "null"}.get(value.lower(), value))
    except ValueError:
        return key, value


def _folder(repair: str) -> Path | None:
    """The folder that a repair was saved to; None for the name of a method."""
    if not repair or repair == "static" or set(repair.partition(":")[0].replace("+", ",").split(",")) <= set(KINDS):
        return None
    path = path_of(repair)
    return path if (path / "repair.json").is_file() or "/" in repair.partition(":")[0] or os.sep in repair else None


def _saved_method(folder: str) -> Method:
    metadata = load(folder).provenance
    name = path_of(folder).resolve().name
    fitted_on = str(metadata.get("fitted_on") or "unknown")
    return Method(name, folder, level=str(metadata.get("level", "sentence")), protocol="inductive", fitted_on=fitted_on)


def has_random_start(method: Method) -> bool:
    """Whether a method starts at random, so that its vectors depend on the seed."""
    if not method.repair or method.repair == "static" or _folder(method.repair) is not None:
        return False
    if method.options.get("k") == 1 and method.repair == "clustered":
        return False
    repair = make(method.repair, **method.options)
    return any("seed" in step.get_params(deep=False) for step in getattr(repair, "steps", [repair]))


def level_for(methods: str | Iterable[str | Method] | None) -> str:
    """The level of a list of methods: tokens if one of them is fitted on tokens, else sentences.

    >>> level_for("raw,whiten"), level_for("raw,sif")
    ('sentence', 'token')
    """
    listed = [] if methods is None else parse_methods(methods)
    return "token" if any(_is_of_tokens(method) for method in listed) else "sentence"


def _is_of_tokens(method: Method) -> bool:
    if not method.repair or method.repair == "static" or _folder(method.repair) is not None:
        return False
    return make(method.repair, **method.options).is_of_tokens


def fit_texts(fit_on: str | os.PathLike[str] | Sequence[str], data: str | os.PathLike[str] | None = None) -> list[str]:
    """The texts that inductive methods are fitted on, as they stand, repeated ones too.

    `train` is both sentences of the train pairs of STS-B and SICK; else a corpus such as snli, a file, or strings.

    Raises:
        SourceError: there is nothing, or nothing readable, of that name.
    """
    if fit_on == "train":
        tasks = [open_pairs(name, data) for name in _TRAIN]
        return [text for task in tasks for side in (task.left, task.right) for text in side]
    try:
        texts = [text for _, text, _ in open_texts(fit_on, data=data).read() if text.strip()]
    except ColumnError as error:
        problem = str(error).partition(". Name ")[0]
        raise ColumnError(f"{problem}. Give --fit-on one text per line, or a table with one column 'text'.") from error
    if not texts and isinstance(fit_on, str | os.PathLike):
        raise NoUsableRowsError(f"--fit-on {fit_on} has only blank texts. Name a file or a corpus that has others.")
    return texts


def prepare(
    model: str | os.PathLike[str] | Encoder,
    texts: Sequence[str],
    methods: str | Iterable[str | Method] | None,
    settings: Settings,
) -> tuple[list[Fits], list[Method]]:
    """A `Fits` per space of the texts, and the methods to try, the raw vectors first."""
    candidates = None if methods is None else with_raw(parse_methods(methods, protocols=settings.protocols))
    protocols = settings.protocols if candidates is None else [method.protocol for method in candidates]
    corpus = fit_texts(settings.fit_on, settings.data) if "inductive" in protocols else []
    spaces = open_spaces(model, [*texts, *corpus], settings)
    if candidates is None:
        # A model that reads context should beat the mean of its own input embeddings.
        static = spaces[0].identity.get("encoder") in ("transformer", "sentence-transformers")
        dim, level, gmm = spaces[0].dim, settings.level, settings.gmm
        standard = (standard_methods(dim, level, gmm=gmm, static=static, protocol=name) for name in protocols)
        candidates = with_raw([method for family in standard for method in family])
    benches = [Fits(space, model, settings, corpus) for space in spaces]
    for method in candidates:
        refusals = [fits.refusal(method) for fits in benches]
        if refusals[0] is not None and None not in refusals:  # with several layers it may be for one of them
            raise refusals[0]
    return benches, candidates


def with_raw(methods: Sequence[Method]) -> list[Method]:
    """The methods with the raw vectors first, once: all differences are relative to them."""
    return [RAW, *(method for method in methods if method.repair)]


def with_sides(methods: Sequence[Method], sides: Sequence[str]) -> list[Method]:
    """The methods once for each choice of sides; those that are not fitted on one of the two sides as they are."""
    return [
        replace(method, sides=side)
        for method in methods
        for side in (sides if method.repair and method.protocol == "transductive" else ("",))
    ]


class Fits:
    """The fitted repairs of one space: an inductive one is fitted once, on `texts`, whatever it is used on."""

    def __init__(
        self, space: Space, model: str | os.PathLike[str] | Encoder, settings: Settings, texts: Sequence[str] = ()
    ) -> None:
        self.space, self.model, self.settings, self.texts = space, model, settings, texts
        fit_on = settings.fit_on
        self.corpus = os.fspath(fit_on) if isinstance(fit_on, str | os.PathLike) else f"{len(fit_on):,} texts"
        self._repairs: dict[tuple[str, str, int], Repair] = {}

    def seeds(self, method: Method) -> range:
        """The seeds under which a method is tried."""
        first = self.settings.seed
        return range(first, first + (self.settings.seeds if has_random_start(method) else 1))

    def in_space(self, method: Method) -> Method:
        """The method with the layer, pooling and level of the space, and what it was fitted on."""
        space = self.space
        layer = "input embeddings" if method.repair == "static" else space.layer
        protocol = "raw" if not method.repair or method.repair == "static" else method.protocol
        fitted_on = {"raw": "", "transductive": "the judged texts"}.get(protocol, method.fitted_on or self.corpus)
        return replace(
            method, layer=layer, pooling=space.pooling, level=space.level, protocol=protocol, fitted_on=fitted_on
        )

    def repair(self, method: Method, seed: int, own: Sequence[str], name: str) -> Repair | None:
        """The repair, fitted on the corpus, or on the texts `own` under the name `name`; None for raw vectors.

        Raises:
            RepairError: it cannot be learned from these vectors, or was saved for others.
        """
        if not method.repair:
            return None
        key = (method.repair, json.dumps(dict(method.options), sort_keys=True, default=str), seed)
        if self.space.level != "token" and _is_of_tokens(method):
            raise OptionError(f"{method.name} is fitted on the tokens of texts. Use --level token.")
        inductive = method.protocol != "transductive"
        if inductive and key in self._repairs:
            return self._repairs[key]
        folder = _folder(method.repair)
        if folder is not None:
            repair = self._load(folder)
        else:
            if inductive and not self.texts:
                raise OptionError(f"{method.name} needs texts to be fitted on. Name some with --fit-on.")
            rows = self.space.rows(self.texts if inductive else own, self.corpus if inductive else name)
            repair = make_seeded(method.repair, method.options, seed).fit_source(rows)
        if inductive:
            self._repairs[key] = repair
        return repair

    def vectors(
        self, method: Method, seed: int, texts: Sequence[str], name: str, own: Sequence[str] | None = None
    ) -> tuple[Matrix, str]:
        """The repaired vectors of texts, and the note of the fit.

        A transductive repair is fitted on the same texts, or on `own`: the same as often as they occur.
        """
        vectors, repair = self.vectors_and_repair(method, seed, texts, name, own)
        return vectors, "" if repair is None else repair.note_

    def vectors_and_repair(
        self, method: Method, seed: int, texts: Sequence[str], name: str, own: Sequence[str] | None = None
    ) -> tuple[Matrix, Repair | None]:
        """The same with the repair itself, None for raw and for static vectors."""
        if method.repair == "static":
            model = self.space.encoder or self.model
            return static_means(model, texts, method.options.get("file"), self.settings.loading), None
        repair = self.repair(method, seed, texts if own is None else own, name)
        return self.space.vectors(texts, repair), repair

    def partition(self, method: Method, repair: Repair | None, texts: Sequence[str]) -> PartitionIsotropy | None:
        """I(W) of the vectors that the repair acts on, tokens or sentences; None if it is not to be measured."""
        if not self.settings.partition or method.repair == "static":
            return None
        source = self.space.rows(texts, "the vectors")

        def blocks() -> Iterator[Matrix]:
            for rows in source.read():
                vectors: Matrix = np.asarray(rows.vectors)
                vectors = vectors[np.isfinite(vectors[:, 0])]  # a text without a token has none
                yield vectors if repair is None else repair.map(vectors)

        return partition_isotropy(blocks)

    def refusal(self, method: Method) -> OtherSpaceError | None:
        """The error if a saved repair belongs to another space."""
        folder = _folder(method.repair) if method.repair else None
        try:
            if folder is not None:
                self._load(folder)
        except OtherSpaceError as error:
            return error
        return None

    def forget(self) -> None:
        """Release the fitted repairs."""
        self._repairs.clear()

    def _load(self, folder: Path) -> Repair:
        identity = self.space.identity
        saved = load(folder, dim=self.space.dim, encoder=EncoderIdentity(str(self.model), str(identity["fingerprint"])))
        for name, actual in (("level", self.space.level), ("layer", self.space.layer), ("pooling", self.space.pooling)):
            expected = saved.provenance.get(name)
            if saved.provenance.get("encoder") and expected is not None and str(expected) != actual:
                raise OtherSpaceError(f"{folder} was fitted on {name} {expected}, and this is {actual}.")
        return saved.repair
