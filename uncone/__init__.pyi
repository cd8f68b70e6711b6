"""The public names of uncone. Written by `make stub` from the options classes: do not edit."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypedDict, Unpack

__version__: str

from uncone.data.batch import Matrix
from uncone.data.writing.rewrite import Rewritten
from uncone.evaluation.advised import Advised
from uncone.evaluation.prescription import Prescription
from uncone.evaluation.table import Method
from uncone.exports.export import Exported
from uncone.repairs.repair import Repair
from uncone.report.documents.demo import Demo
from uncone.report.documents.evaluate import Evaluated
from uncone.report.documents.evaluate.papers import PaperTables
from uncone.verbs.encode import Encoded
from uncone.verbs.options.ablate import AblateDataOptions, AblateLayersOptions, AblateRepairOptions
from uncone.verbs.options.calibrate import CalibrateOptions
from uncone.verbs.options.check import CheckOptions
from uncone.verbs.options.encode import EncodeOptions
from uncone.verbs.options.evaluate import EvaluateOptions
from uncone.verbs.options.fix import ApplyOptions, ExportOptions, FixOptions, PrescribeOptions
from uncone.verbs.options.layers import LayersOptions
from uncone.verbs.options.map import MapOptions
from uncone.verbs.options.plan import PlanOptions
from uncone.verbs.options.similarity import SimilarityOptions
from uncone.verbs.options.tune import TuneOptions
from uncone.verbs.spaces.verb import OpenOptions
from uncone.analysis.calibration.calibration import Calibration as Calibration
from uncone.analysis.measures.finding import Finding as Finding
from uncone.analysis.measures.finding import Level as Level
from uncone.errors import UnconeError as UnconeError
from uncone.report.documents.ablate.data import DataAblation as DataAblation
from uncone.report.documents.ablate.layers import LayerAblation as LayerAblation
from uncone.report.documents.ablate.repair import RepairAblation as RepairAblation
from uncone.report.documents.calibrate import Calibrated as Calibrated
from uncone.report.documents.check import Comparison as Comparison
from uncone.report.documents.check import Diagnosis as Diagnosis
from uncone.report.documents.fix import Repaired as Repaired
from uncone.report.documents.layers import LayerComparison as LayerComparison
from uncone.report.documents.layers import LayerStudy as LayerStudy
from uncone.report.documents.layers.papers import LayerPapers as LayerPapers
from uncone.report.documents.map import Map as Map
from uncone.report.documents.plan import Planned as Planned
from uncone.report.documents.similarity import Similarity as Similarity
from uncone.report.documents.tune import Tuned as Tuned
from uncone.verbs.schema.schema import schema as schema
from uncone.verbs.schema.schema import validate as validate

__all__ = [
    "Calibrated",
    "Calibration",
    "Comparison",
    "DataAblation",
    "Diagnosis",
    "Finding",
    "LayerAblation",
    "LayerComparison",
    "LayerPapers",
    "LayerStudy",
    "Level",
    "Map",
    "Planned",
    "RepairAblation",
    "Repaired",
    "Similarity",
    "Space",
    "Tuned",
    "UnconeError",
    "__version__",
    "ablate_data",
    "ablate_layers",
    "ablate_repair",
    "apply",
    "calibrate",
    "check",
    "compare",
    "compare_layers",
    "demo",
    "encode",
    "evaluate",
    "export",
    "fix",
    "layer_papers",
    "layers",
    "map",
    "open",
    "plan",
    "prescribe",
    "reproduce",
    "schema",
    "similarity",
    "tune",
    "validate",
]

class _CalibrateOptions(TypedDict, total=False):
    text: Sequence[str] | str
    limit: int | None
    data: str | os.PathLike[str] | None
    name: str | None
    column: str | None
    tensor: str | None
    label: str | None
    texts: Sequence[str] | None
    labels: Sequence[Any] | None
    model: Any
    layer: str | int | None
    pooling: str | None
    prompt: str
    cache: bool
    batch_size: int | None
    revision: str | None
    device: str
    dtype: str
    allow_pickle: bool
    trust_remote_code: bool
    diverse: Any
    workers: int
    engine: Any
    address: str | None
    any_kernel: bool
    seed: int
    progress: Callable[[str, int, int | None], None] | None
    float64: bool
    pairs: Any
    left: str | None
    right: str | None
    ids: str | None
    cut: float | None
    relevant: float | None
    guarantees: Sequence[str]
    precisions: Sequence[float]
    recalls: Sequence[float]
    replicates: int
    scores: Sequence[float]
    fpr: Sequence[float]
    corpus_size: int | None
    background: Any
    translate: float | None
    old: Any
    queries: Any
    documents: Any
    query_prompt: str | None
    document: str | None
    repair: str | os.PathLike[str] | None
    save: str | os.PathLike[str] | None

class _CheckOptions(TypedDict, total=False):
    text: Sequence[str] | str
    limit: int | None
    data: str | os.PathLike[str] | None
    name: str | None
    column: str | None
    tensor: str | None
    label: str | None
    texts: Sequence[str] | None
    labels: Sequence[Any] | None
    model: Any
    layer: str | int | None
    pooling: str | None
    prompt: str
    cache: bool
    batch_size: int | None
    revision: str | None
    device: str
    dtype: str
    allow_pickle: bool
    trust_remote_code: bool
    diverse: Any
    workers: int
    engine: Any
    address: str | None
    any_kernel: bool
    seed: int
    progress: Callable[[str, int, int | None], None] | None
    float64: bool
    sample: int
    scores: Sequence[float]
    repair: str | os.PathLike[str] | None
    exact: bool
    deep: bool
    ann: bool

class _EncodeOptions(TypedDict, total=False):
    text: Sequence[str] | str
    limit: int | None
    data: str | os.PathLike[str] | None
    name: str | None
    model: Any
    layer: str | int | None
    pooling: str | None
    prompt: str
    cache: bool
    batch_size: int | None
    revision: str | None
    device: str
    dtype: str
    allow_pickle: bool
    trust_remote_code: bool
    workers: int
    engine: Any
    address: str | None
    any_kernel: bool
    out: str | os.PathLike[str] | None
    progress: Callable[[str, int, int | None], None] | None

class _EvaluateOptions(TypedDict, total=False):
    revision: str | None
    device: str
    dtype: str
    allow_pickle: bool
    trust_remote_code: bool
    layer: Sequence[str | int] | str | int
    pooling: str | None
    prompt: str
    cache: bool
    seed: int
    progress: Callable[[str, int, int | None], None] | None
    pairs: Any
    left: str | None
    right: str | None
    vectors: Any
    queries: Any
    qrels: Any
    score: str | None
    ids: Any
    query_ids: Any
    text: Any
    column: str | None
    tensor: str | None
    tasks: Sequence[str]
    sides: str
    relevant: int
    fit_on: Any
    protocols: Sequence[str]
    level: str | None
    gmm: bool
    published: bool
    seeds: int
    replicates: int
    data: str | os.PathLike[str] | None

class _PrescribeOptions(TypedDict, total=False):
    text: Sequence[str] | str
    limit: int | None
    data: str | os.PathLike[str] | None
    name: str | None
    column: str | None
    tensor: str | None
    label: str | None
    texts: Sequence[str] | None
    labels: Sequence[Any] | None
    model: Any
    layer: str | int | None
    pooling: str | None
    prompt: str
    cache: bool
    batch_size: int | None
    revision: str | None
    device: str
    dtype: str
    allow_pickle: bool
    trust_remote_code: bool
    diverse: Any
    seed: int
    progress: Callable[[str, int, int | None], None] | None
    pairs: Any
    left: str | None
    right: str | None
    score: str | None
    folds: int
    candidates: Any
    replicates: int | None
    least_gain: float | None

class _ApplyOptions(TypedDict, total=False):
    text: Sequence[str] | str
    limit: int | None
    data: str | os.PathLike[str] | None
    name: str | None
    column: str | None
    tensor: str | None
    label: str | None
    texts: Sequence[str] | None
    labels: Sequence[Any] | None
    model: Any
    layer: str | int | None
    pooling: str | None
    prompt: str
    cache: bool
    batch_size: int | None
    revision: str | None
    device: str
    dtype: str
    allow_pickle: bool
    trust_remote_code: bool
    seed: int
    progress: Callable[[str, int, int | None], None] | None
    workers: int
    engine: Any
    address: str | None
    any_kernel: bool
    out: str | os.PathLike[str] | None

class _ExportOptions(TypedDict, total=False):
    revision: str | None
    device: str
    dtype: str
    allow_pickle: bool
    trust_remote_code: bool
    model: Any
    layer: str | int | None
    pooling: str | None
    level: str | None

class _FixOptions(TypedDict, total=False):
    text: Sequence[str] | str
    limit: int | None
    data: str | os.PathLike[str] | None
    name: str | None
    column: str | None
    tensor: str | None
    label: str | None
    texts: Sequence[str] | None
    labels: Sequence[Any] | None
    model: Any
    layer: str | int | None
    pooling: str | None
    prompt: str
    cache: bool
    batch_size: int | None
    revision: str | None
    device: str
    dtype: str
    allow_pickle: bool
    trust_remote_code: bool
    diverse: Any
    workers: int
    engine: Any
    address: str | None
    any_kernel: bool
    seed: int
    progress: Callable[[str, int, int | None], None] | None
    float64: bool
    sample: int
    pairs: Any
    left: str | None
    right: str | None
    score: str | None
    k: int | str | None
    p: int | None
    dim: int | None
    rotation: str | None
    shrinkage: float | str | None
    a: float | None
    frequencies: str | None
    how: str | None
    dimensions: Sequence[int] | None
    assign: str | None
    epochs: int | None
    lr: float | None
    others: dict[str, Any] | None
    out: str | os.PathLike[str] | None
    save: str | os.PathLike[str] | None
    level: str | None
    skip_bad: bool
    prescription: Any

class _LayersOptions(TypedDict, total=False):
    text: Sequence[str] | str
    limit: int | None
    data: str | os.PathLike[str] | None
    name: str | None
    revision: str | None
    device: str
    dtype: str
    allow_pickle: bool
    trust_remote_code: bool
    diverse: Any
    seed: int
    progress: Callable[[str, int, int | None], None] | None
    rows: str
    word_pooling: str
    pooling: str
    kinds: str | None
    cased: bool
    special: bool | None
    no_sinks: bool
    window: int | None
    stride: int | None
    words: Sequence[str]
    mev_words: int
    min_contexts: int
    deep: bool
    k: int | None
    frequency: str
    deep_sample: int
    sentences: bool
    keep_vectors: bool
    memory: str | int | None
    batch_size: int | None
    workers: int
    engine: Any
    address: str | None
    any_kernel: bool
    sample: int | None
    split: bool | None
    keep_duplicates: bool
    curve: bool
    resume: bool
    state: str | os.PathLike[str] | None
    save_every: float
    keep_state: bool
    model_name: str | None
    revisions: Sequence[str]
    control: str | None
    fresh: int | None

class _MapOptions(TypedDict, total=False):
    seed: int
    progress: Callable[[str, int, int | None], None] | None
    text: Sequence[str] | str
    limit: int | None
    data: str | os.PathLike[str] | None
    name: str | None
    column: str | None
    tensor: str | None
    label: str | None
    texts: Sequence[str] | None
    labels: Sequence[Any] | None
    model: Any
    layer: str | int | None
    pooling: str | None
    prompt: str
    cache: bool
    batch_size: int | None
    revision: str | None
    device: str
    dtype: str
    allow_pickle: bool
    trust_remote_code: bool
    rows: str
    sample: int | None
    split: bool | None
    corpus: Any
    kinds: str | None
    method: str
    dims: int
    points: int | None
    color: str | None
    words: Sequence[str]
    k: int | None
    repair: str | os.PathLike[str] | None
    static: bool

class _PlanOptions(TypedDict, total=False):
    seed: int
    progress: Callable[[str, int, int | None], None] | None
    sample: int
    column: str | None
    tensor: str | None
    rows: float | None
    dim: int | None
    dtype: str
    method: str | None
    exact: bool
    float64: bool
    engine: str
    workers: int
    bandwidth: str | None

class _SimilarityOptions(TypedDict, total=False):
    text: Sequence[str] | str
    limit: int | None
    data: str | os.PathLike[str] | None
    name: str | None
    column: str | None
    tensor: str | None
    label: str | None
    texts: Sequence[str] | None
    labels: Sequence[Any] | None
    model: Any
    layer: str | int | None
    pooling: Sequence[str] | str | None
    prompt: str
    cache: bool
    batch_size: int | None
    revision: str | None
    device: str
    dtype: str
    allow_pickle: bool
    trust_remote_code: bool
    seed: int
    progress: Callable[[str, int, int | None], None] | None
    sample: int
    against: str | None
    repair: str | os.PathLike[str] | None
    calibration: Any
    clean: bool
    near: str | None
    min: float | str | None
    max: float | str | None
    top: int | None
    duplicates: float | str | None
    groups: int | str
    group_method: Sequence[str] | str
    order: str | None
    maps: Sequence[str] | str
    map_dims: Sequence[int | str] | int | str
    matrix: str | os.PathLike[str] | None

class _AblateDataOptions(TypedDict, total=False):
    revision: str | None
    device: str
    dtype: str
    allow_pickle: bool
    trust_remote_code: bool
    seed: int
    progress: Callable[..., None] | None
    text: str | None
    label: str | None
    data: str | os.PathLike[str] | None
    seeds: int
    train: int
    test_size: int | None
    epochs: int
    batch_size: int
    lr: float | None
    max_length: int | None
    runs: str | os.PathLike[str] | None
    announce: Callable[[str], None] | None
    task: Any
    skew: float
    skew_by: str | None
    against: Any
    objectives: Sequence[str]

class _AblateLayersOptions(TypedDict, total=False):
    revision: str | None
    device: str
    dtype: str
    allow_pickle: bool
    trust_remote_code: bool
    seed: int
    progress: Callable[..., None] | None
    text: str | None
    label: str | None
    data: str | os.PathLike[str] | None
    seeds: int
    train: int
    test_size: int | None
    epochs: int
    batch_size: int
    lr: float | None
    max_length: int | None
    runs: str | os.PathLike[str] | None
    announce: Callable[[str], None] | None
    task: Any
    variants: Sequence[str]

class _AblateRepairOptions(TypedDict, total=False):
    revision: str | None
    device: str
    dtype: str
    allow_pickle: bool
    trust_remote_code: bool
    seed: int
    progress: Callable[..., None] | None
    text: str | None
    label: str | None
    data: str | os.PathLike[str] | None
    seeds: int
    train: int
    test_size: int | None
    epochs: int
    batch_size: int
    lr: float | None
    max_length: int | None
    runs: str | os.PathLike[str] | None
    announce: Callable[[str], None] | None
    tasks: Sequence[Any]
    methods: Sequence[str]

class _TuneOptions(TypedDict, total=False):
    text: Sequence[str] | str
    limit: int | None
    data: str | os.PathLike[str] | None
    name: str | None
    revision: str | None
    device: str
    dtype: str
    allow_pickle: bool
    trust_remote_code: bool
    seed: int
    progress: Callable[..., None] | None
    out: str | os.PathLike[str] | None
    label: str | None
    score: str | None
    objective: str | None
    dev: Any
    datasets: Sequence[Any]
    then: str | None
    freeze: Sequence[str]
    drop_layers: Sequence[str]
    reinit: Sequence[str]
    pooling: str | None
    dropout: float | None
    epochs: float | None
    steps: int | None
    lr: float | None
    scale: float
    batch_size: int
    gradient_accumulation: int
    max_length: int
    patience: int
    probe_every: int | None
    resume: bool

class _OpenOptions(TypedDict, total=False):
    text: Sequence[str] | str
    limit: int | None
    data: str | os.PathLike[str] | None
    name: str | None
    column: str | None
    tensor: str | None
    label: str | None
    texts: Sequence[str] | None
    labels: Sequence[Any] | None
    model: Any
    layer: str | int | None
    pooling: str | None
    prompt: str
    cache: bool
    batch_size: int | None
    revision: str | None
    device: str
    dtype: str
    allow_pickle: bool
    trust_remote_code: bool
    repair: str | os.PathLike[str] | None

class Space:
    source: Any
    options: OpenOptions
    def calibrate(
        self, *, options: CalibrateOptions | None = ..., **keywords: Unpack[_CalibrateOptions]
    ) -> Calibrated: ...
    def check(self, *, options: CheckOptions | None = ..., **keywords: Unpack[_CheckOptions]) -> Diagnosis: ...
    def fix(self, method: str, *, options: FixOptions | None = ..., **keywords: Unpack[_FixOptions]) -> Repaired: ...
    def map(self, *, options: MapOptions | None = ..., **keywords: Unpack[_MapOptions]) -> Map: ...
    def prescribe(
        self, *, options: PrescribeOptions | None = ..., **keywords: Unpack[_PrescribeOptions]
    ) -> Prescription | Advised: ...
    def similarity(
        self, *, options: SimilarityOptions | None = ..., **keywords: Unpack[_SimilarityOptions]
    ) -> Similarity: ...

def calibrate(
    source: Any = None, *, options: CalibrateOptions | None = ..., **keywords: Unpack[_CalibrateOptions]
) -> Calibrated: ...
def check(source: Any, *, options: CheckOptions | None = ..., **keywords: Unpack[_CheckOptions]) -> Diagnosis: ...
def encode(texts: Any, *, options: EncodeOptions | None = ..., **keywords: Unpack[_EncodeOptions]) -> Encoded: ...
def evaluate(
    model: Any = None,
    datasets: Sequence[Any] | None = None,
    methods: str | Iterable[str | Method] | None = None,
    *,
    options: EvaluateOptions | None = ...,
    **keywords: Unpack[_EvaluateOptions],
) -> Evaluated: ...
def prescribe(
    source: Any = None, *, options: PrescribeOptions | None = ..., **keywords: Unpack[_PrescribeOptions]
) -> Prescription | Advised: ...
def reproduce(
    model: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    supervised: str | os.PathLike[str] | None = None,
    limit: int | None = None,
    *,
    options: EvaluateOptions | None = ...,
    **keywords: Unpack[_EvaluateOptions],
) -> PaperTables: ...
def apply(
    repair: str | os.PathLike[str] | Repair,
    source: Any,
    *,
    options: ApplyOptions | None = ...,
    **keywords: Unpack[_ApplyOptions],
) -> Matrix | Rewritten: ...
def export(
    repair: str | os.PathLike[str] | Repair,
    to: str,
    out: str | os.PathLike[str],
    *,
    options: ExportOptions | None = ...,
    **keywords: Unpack[_ExportOptions],
) -> Exported: ...
def fix(source: Any, method: str, *, options: FixOptions | None = ..., **keywords: Unpack[_FixOptions]) -> Repaired: ...
def compare_layers(
    models: Sequence[Any],
    corpora: Sequence[Any],
    *,
    options: LayersOptions | None = ...,
    **keywords: Unpack[_LayersOptions],
) -> LayerComparison: ...
def layer_papers(
    models: Sequence[Any],
    corpora: Sequence[Any],
    methods: Any = None,
    *,
    options: LayersOptions | None = ...,
    **keywords: Unpack[_LayersOptions],
) -> LayerPapers: ...
def layers(
    model: Any, texts: Any, *, options: LayersOptions | None = ..., **keywords: Unpack[_LayersOptions]
) -> LayerStudy: ...
def map(source: Any, *, options: MapOptions | None = ..., **keywords: Unpack[_MapOptions]) -> Map: ...
def plan(source: Any = None, *, options: PlanOptions | None = ..., **keywords: Unpack[_PlanOptions]) -> Planned: ...
def similarity(
    source: Any, *, options: SimilarityOptions | None = ..., **keywords: Unpack[_SimilarityOptions]
) -> Similarity: ...
def ablate_data(
    model: str | os.PathLike[str], *, options: AblateDataOptions | None = ..., **keywords: Unpack[_AblateDataOptions]
) -> DataAblation: ...
def ablate_layers(
    model: str | os.PathLike[str],
    *,
    options: AblateLayersOptions | None = ...,
    **keywords: Unpack[_AblateLayersOptions],
) -> LayerAblation: ...
def ablate_repair(
    model: str | os.PathLike[str],
    *,
    options: AblateRepairOptions | None = ...,
    **keywords: Unpack[_AblateRepairOptions],
) -> RepairAblation: ...
def tune(
    model: str | os.PathLike[str], *sources: Any, options: TuneOptions | None = ..., **keywords: Unpack[_TuneOptions]
) -> Tuned: ...
def compare(*sources: Any, **keywords: Unpack[_CheckOptions]) -> Comparison: ...
def demo(progress: Callable[[str, int, int], None] | None = ...) -> Demo: ...
def open(source: Any, **keywords: Unpack[_OpenOptions]) -> Space: ...
