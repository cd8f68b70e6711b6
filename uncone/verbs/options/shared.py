"""Options that verbs share: what is read and by which model, how it is measured, and what is written."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from uncone.data.storage.path import path_of
from uncone.errors import OptionError
from uncone.verbs.options.option import Options, Rule, among, at_least, between, option

if TYPE_CHECKING:
    from uncone.encoders.open import Loading
    from uncone.run.job import Executor
    from uncone.run.measure import Plan
    from uncone.verbs.spaces.encoding import Encoding

__all__ = [
    "DiverseOptions",
    "EngineOptions",
    "LoadingOptions",
    "ModelOptions",
    "OutputOptions",
    "PairOptions",
    "PoolingOptions",
    "RunOptions",
    "SeedOptions",
    "SourceOptions",
    "SpaceOptions",
    "TextOptions",
    "check_folder",
]

TEXTS = "for texts: name a model with --model."


@dataclass(frozen=True, kw_only=True)
class TextOptions(Options):
    """Which texts are read."""

    GROUP = "Source"
    text: Sequence[str] | str = option((), "Column with the texts; a,b for several columns.")
    limit: int | None = option(None, "Use only the first N texts.", rule=at_least(2))
    data: str | os.PathLike[str] | None = option(
        None, "Folder with the named corpora and datasets.", default_text="$UNCONE_DATA"
    )
    name: str | None = option(None, "Name of the source in the report.", cli=False)


@dataclass(frozen=True, kw_only=True)
class SourceOptions(TextOptions):
    """Which vectors are read, with their texts and labels."""

    GROUP = "Source"
    column: str | None = option(None, "Column, field or array that holds the vectors.")
    tensor: str | None = option(None, "Tensor of a .safetensors file that holds the vectors.")
    label: str | None = option(None, "Column with labels. For vectors without columns, a file with one label per line.")
    texts: Sequence[str] | None = option(None, "Texts of vectors in memory.", cli=False)
    labels: Sequence[Any] | None = option(None, "Labels of vectors in memory.", cli=False)


@dataclass(frozen=True, kw_only=True)
class LoadingOptions(Options):
    """How a model is loaded."""

    GROUP = "Model"
    revision: str | None = option(None, "Revision of a model on the hub: a branch, tag or commit.")
    device: str = option("auto", "Device to run the model on.", rule=among("auto", "cpu", "cuda", "mps"))
    dtype: str = option("float32", "Precision of the weights.", rule=among("float32", "float16", "bfloat16"))
    allow_pickle: bool = option(False, "Allow pickled weights. They can execute code: use only with models you trust.")
    trust_remote_code: bool = option(
        False, "Run Python code that comes with the model. Use only with models you trust."
    )

    @property
    def loading(self) -> Loading:
        """The options as the encoders take them."""
        from uncone.encoders.open import Loading

        return Loading(self.revision, self.device, self.dtype, self.allow_pickle, self.trust_remote_code)


@dataclass(frozen=True, kw_only=True)
class _Layer(Options):
    """A model, and one of its layers."""

    GROUP = "Model"
    model: Any = option(None, "Model to encode texts with: a folder, a name on the hub, or a file of word vectors.")
    layer: str | int | None = option(
        None, "Layer of the model: -1 is the last, 1,-1 averages the two.", default_text="the model's own"
    )


@dataclass(frozen=True, kw_only=True)
class PoolingOptions(Options):
    """How the states of a layer become one vector per text."""

    GROUP = "Model"
    pooling: str | None = option(
        None,
        "How the tokens of a text become one vector.",
        rule=among("mean", "cls", "max", "last"),
        default_text="the model's own",
    )
    prompt: str = option("", 'Prompt put before every text, such as "query: ".')
    cache: bool = option(True, "Cache the vectors of texts on disk.")


@dataclass(frozen=True, kw_only=True)
class DiverseOptions(Options):
    """The texts on which the model's own cone is measured."""

    GROUP = "Model"
    diverse: Any = option(
        None,
        "Texts on many subjects, to tell the model's cone from the topic's; none for no such measurement.",
        default_text="sentences that ship with uncone",
    )


@dataclass(frozen=True, kw_only=True)
class ModelOptions(PoolingOptions, _Layer):
    """The model that encodes texts, and how it makes one vector of each."""

    GROUP = "Model"
    batch_size: int | None = option(None, "Number of texts encoded at once.", rule=at_least(1))


@dataclass(frozen=True, kw_only=True)
class SpaceOptions(LoadingOptions, ModelOptions, SourceOptions):
    """A set of vectors: read from a file, or made from texts by a model."""

    FOR_TEXTS: ClassVar[tuple[str, ...]] = ("layer", "pooling", "prompt", "batch_size", "limit")
    """Options that mean nothing without a model."""

    def check(self) -> None:
        """Refuse options of texts without a model, and options of vectors with one."""
        if self.model is None:
            for name in self.FOR_TEXTS:
                if self.is_given(name):
                    raise OptionError(f"{self.flag(name)} is {TEXTS}")
            if len(self.text) > 1:
                raise OptionError(f"Vectors take one column of texts, not {len(self.text)}: {', '.join(self.text)}.")
        elif self.column or self.tensor:
            raise OptionError("--column and --tensor are for vectors; with --model the source holds texts: use --text.")
        elif self.texts is not None or self.labels is not None:
            raise OptionError("texts= and labels= are for vectors; with a model, the source holds the texts.")
        super().check()

    @property
    def encoding(self) -> Encoding | None:
        """The model and how it is used; None for vectors."""
        if self.model is None:
            return None
        from uncone.verbs.spaces.encoding import Encoding

        settings = (self.model, self.layer, self.pooling, self.prompt, self.batch_size, self.limit)
        return Encoding(*settings, self.loading, self.cache)

    @property
    def files_read(self) -> list[str]:
        """Files and folders that the options name."""
        names = [self.model] if self.model is not None else [*self.text, self.label]
        names += [getattr(self, "diverse", None)]
        return [os.fspath(name) for name in names if isinstance(name, str | os.PathLike)]


@dataclass(frozen=True, kw_only=True)
class PairOptions(Options):
    """Labeled pairs, and the columns of their table."""

    GROUP = "Labeled pairs"
    pairs: Any = option(
        None,
        "Labeled pairs: a table of two texts (or two row numbers or ids) and a label 0/1 or a grade, or a dataset "
        "such as stsb:dev.",
    )
    left: str | None = option(None, "Column of --pairs with the first text, row or id.", needs="pairs")
    right: str | None = option(None, "Column of --pairs with the second text, row or id.", needs="pairs")

    def check(self) -> None:
        """Refuse one column where two are needed."""
        if (self.left is None) != (self.right is None):
            raise OptionError("Pairs need two columns: name both with --left and --right.")
        super().check()

    def _requirement(self, name: str) -> str:
        return "is for labeled pairs: name them with --pairs." if name == "pairs" else super()._requirement(name)


@dataclass(frozen=True, kw_only=True)
class SeedOptions(Options):
    """The seed of every verb that draws, and where it reports its progress."""

    GROUP = "Sampling"
    seed: int = option(0, "Seed of every sample and every random start.", rule=between(0, (1 << 32) - 1))
    progress: Callable[[str, int, int | None], None] | None = option(
        None, "Called with the step, the amount done since the last call, and the total.", cli=False
    )


def _is_engine(value: Any) -> bool:  # noqa: ANN401 - a name, or an executor
    return value in ("threads", "ray", "spark", "dask") if isinstance(value, str) else hasattr(value, "groups")


@dataclass(frozen=True, kw_only=True)
class EngineOptions(Options):
    """Where the work is done."""

    GROUP = "Running"
    workers: int = option(
        0,
        "Number of threads, or of workers of an engine started here.",
        rule=between(0, 256),
        default_text="one per core",
    )
    engine: Any = option(
        "threads",
        "Where to compute: in threads of this machine, or on a cluster. The results are the same.",
        rule=Rule(_is_engine, "threads, ray, spark or dask", ("threads", "ray", "spark", "dask")),
    )
    address: str | None = option(
        None,
        "Address of the cluster, such as auto (Ray) or host:port.",
        default_text="one started here",
        needs="engine",
    )
    any_kernel: bool = option(
        False,
        "Let workers with other versions or another BLAS kernel take part: last digits may differ.",
        needs="engine",
    )

    @property
    def executor(self) -> Executor | None:
        """The engine, connected; None for threads of this machine."""
        from uncone.run.engines.open import open_engine

        return open_engine(self.engine, self.address, self.workers)


def check_folder(options: EngineOptions, out: str | os.PathLike[str] | None) -> None:
    """Refuse to have a single file, or none, written by an engine.

    Raises:
        OptionError: `out` is one.
    """
    if options.is_given("engine") and (out is None or Path(out).suffix):
        raise OptionError(
            "--engine writes a folder with one file per source file. Name a folder, without an ending: -o out/."
        )


@dataclass(frozen=True, kw_only=True)
class RunOptions(SeedOptions, EngineOptions):
    """How vectors are measured."""

    GROUP = "Running"
    float64: bool = option(False, "Compute in double precision, at half the speed.")

    def check(self) -> None:
        """Refuse texts on a cluster."""
        if self.is_given("engine") and getattr(self, "model", None) is not None:
            raise OptionError(
                "--engine measures vectors, but with --model the source holds texts. Encode them first: uncone encode "
                "-o vectors/, which takes --engine too. Then give vectors/ here."
            )
        super().check()

    @property
    def plan(self) -> Plan:
        """The options as a pass over vectors takes them."""
        import numpy as np

        from uncone.run.measure import Plan

        return Plan(self.workers, np.float64 if self.float64 else np.float32, self.executor, self.any_kernel)


@dataclass(frozen=True, kw_only=True)
class OutputOptions(Options):
    """Files that a command writes. In Python, results have methods for the same."""

    GROUP = "Output"
    FOLDERS: ClassVar[tuple[str, ...]] = ("figures",)
    """Fields that name folders; the other paths are files."""

    html: Path | None = option(Path("uncone-report.html"), "HTML report, a single page that works offline.")
    json: str | None = option(None, "Write all numbers as JSON to this file; - for standard output.")
    markdown: Path | None = option(None, "Write the report as Markdown.")
    latex: Path | None = option(None, "Write the tables as LaTeX.")
    figures: Path | None = option(None, "Folder for the charts as SVG and PNG, with their numbers as CSV.")

    @property
    def json_file(self) -> Path | None:
        """The JSON file, unless it goes to standard output."""
        return None if self.json in (None, "-") else path_of(str(self.json))

    def paths(self) -> list[tuple[str, Path]]:
        """Every path that is written, with its flag."""
        names = self.field_names()
        outputs = [(self.flag(name), getattr(self, "json_file" if name == "json" else name)) for name in names]
        return [(flag, path) for flag, path in outputs if isinstance(path, Path)]

    def files(self) -> list[tuple[str, Path]]:
        """Every file that is written, with its flag."""
        folders = {getattr(self, name) for name in self.FOLDERS if hasattr(self, name)}
        return [(flag, path) for flag, path in self.paths() if path not in folders]
