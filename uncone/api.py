"""The verbs, each a short composition of the rooms."""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from uncone._version import __version__
from uncone.backends.measure import Plan
from uncone.data.open import open_source
from uncone.data.source import Options, Source
from uncone.diagnosis.baseline import score_meaning
from uncone.diagnosis.examine import examine
from uncone.diagnosis.finding import Finding
from uncone.diagnosis.pictures import draw
from uncone.diagnosis.space import SAMPLE_ROWS, Space, measure_space
from uncone.diagnosis.verdict import judge
from uncone.errors import OptionError
from uncone.report.diagnosis import Comparison, Diagnosis

if TYPE_CHECKING:
    from uncone.data.texts import TextSource
    from uncone.encoders.open import Loading
    from uncone.report.study import LayerComparison, LayerStudy

__all__ = ["check", "compare", "compare_layers", "demo", "layers"]

_MOST_WORKERS = 256

Progress = Callable[[str, int, int | None], None]


def check(
    source: Any,  # noqa: ANN401 - a path or whatever holds vectors
    *,
    name: str | None = None,
    scores: Sequence[float] = (),
    column: str | None = None,
    tensor: str | None = None,
    text: str | None = None,
    label: str | None = None,
    texts: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
    model: Any = None,  # noqa: ANN401 - a name, a path or an encoder
    layer: str | int | None = None,
    pooling: str | None = None,
    prompt: str = "",
    batch_size: int | None = None,
    limit: int | None = None,
    data: str | os.PathLike[str] | None = None,
    loading: Loading | None = None,
    exact: bool = False,
    float64: bool = False,
    workers: int = 0,
    sample: int = SAMPLE_ROWS,
    seed: int = 0,
    progress: Progress | None = None,
) -> Diagnosis:
    """Diagnose a space of vectors.

    Args:
        source: a path (file, folder, glob, `-`), an (n, d) array, a DataFrame column of vectors, or an iterator of
            (m, d) blocks.
        name: what to call it in the report; its path by default.
        scores: cosines to explain: how many random pairs beat each.
        column: the column, field or array that holds the vectors, where there are several.
        tensor: the tensor of a .safetensors file.
        text: the column with the rows' texts; for a file without columns, a text file with one text a line.
        label: the same for labels.
        texts: the rows' texts themselves.
        labels: the rows' labels themselves.
        model: encode `source`, which holds texts, with this model: a folder, a hub name, a file of word vectors.
        layer: the layer of the model, -1 is the last; "1,-1" averages two.
        pooling: how the tokens of a text become one vector: mean, cls, max or last.
        prompt: put before every text, for models that want one.
        batch_size: texts encoded at once, at most.
        limit: take the first texts only.
        data: the folder with named corpora, when `source` names one.
        loading: revision, device, precision, and what a stranger's model may do.
        exact: measure the partition function on all rows, not on the sample.
        float64: products in double precision: nine digits whatever the order of the rows, at half the speed.
        workers: processes to measure with; 0 uses threads. The digits are the same.
        sample: rows kept for what cannot be summed: pair cosines, partition function, map.
        seed: chooses the sample.
        progress: called with the step, the rows done since the last call, and the rows there are.

    >>> rng = np.random.default_rng(0)
    >>> diagnosis = check(rng.normal(size=(500, 32)) + 1.0)
    >>> diagnosis.verdict.level, round(diagnosis["baseline"].value, 2)
    (<Level.CROWDED: 'crowded'>, 0.5)
    """
    _check_options(scores, workers, sample, seed)
    if model is None:
        opened = open_source(source, Options(column, tensor, text, label), texts=texts, labels=labels)
    else:
        chosen = _EncodingOptions(layer, pooling, prompt, batch_size, limit, loading)
        opened = _encoded(source, model, text, label, data, chosen)
    plan = Plan(workers=workers, dtype=np.float64 if float64 else np.float32)
    space = measure_space(opened, plan, seed=seed, sample=sample, exact=exact, progress=progress)
    findings = examine(space)
    meanings = [score_meaning(space, score) for score in scores]
    return Diagnosis(
        source={
            "name": name or opened.name,
            "kind": opened.kind,
            "rows": space.unusable.seen,
            "dimensions": opened.dim,
            "dtype": opened.dtype,
        },
        findings=findings,
        verdict=judge(findings, meanings),
        scores=meanings,
        pictures=draw(space),
        provenance=_provenance(space, exact),
        suggestion=None
        if model is not None
        else _suggestion(source, findings, scores, [("--column", column), ("--tensor", tensor)], float64),
    )


def compare(*sources: Any, **options: Any) -> Comparison:  # noqa: ANN401 - as for check
    """Diagnose several spaces, to be read side by side; the options are those of `check`."""
    return Comparison([check(source, **options) for source in sources])


def layers(
    model: Any,  # noqa: ANN401 - a name, a path or an encoder
    texts: Any,  # noqa: ANN401 - a path, a corpus or strings
    *,
    name: str | None = None,
    model_name: str | None = None,
    text: Sequence[str] = (),
    data: str | os.PathLike[str] | None = None,
    split: bool | None = None,
    limit: int | None = None,
    sample: int | None = None,
    keep_duplicates: bool = False,
    loading: Loading | None = None,
    state: str | os.PathLike[str] | None = None,
    save_every: float = 30.0,
    resume: bool = False,
    keep_state: bool = False,
    progress: Progress | None = None,
    **settings: Any,  # noqa: ANN401 - the fields of StudySettings and RowRule
) -> LayerStudy:
    """Measure every layer of a model on texts, in one pass.

    Args:
        model: a folder, a name on the Hugging Face hub, a file of word vectors, a folder with ELMo, or an encoder.
        texts: a path (.txt, .csv, .tsv, .jsonl, .parquet), a corpus (snli, wikitext2, ptb, sts), or strings.
        name: what to call the texts in the report.
        model_name: what to call the model in the report.
        text: the columns that hold texts.
        data: the folder with named corpora; $UNCONE_DATA by default, then the hub.
        split: cut texts into sentences; by default those of line files, where a line may be a paragraph.
        limit: take the first texts only.
        sample: take a seeded sample of the texts.
        keep_duplicates: measure exact duplicates too.
        loading: revision, device, precision, and what a stranger's model may do.
        state: a folder to save the run to, so that it can be resumed.
        save_every: seconds between two saves.
        resume: go on from what was saved.
        keep_state: leave what was saved when all is measured; `study.settle()` removes it.
        progress: called with the step, the texts done since the last call, and the texts there are.
        **settings: rows, word_pooling, pooling, kinds, cased, special, window, stride, words, mev_words, min_contexts,
            seed, memory, batch_size, no_sinks, sentences: as the options of `uncone layers`.

    >>> study = layers("bert-base-cased", "snli")  # doctest: +SKIP
    >>> study.curve("baseline")  # doctest: +SKIP
    """
    from uncone.backends.checkpoint import checkpoints_in
    from uncone.data.selection import Selection
    from uncone.diagnosis.published import published_curves
    from uncone.diagnosis.story import tell
    from uncone.diagnosis.study import study
    from uncone.diagnosis.study_settings import settings_from
    from uncone.encoders.open import open_encoder
    from uncone.report.study import LayerStudy
    from uncone.report.study_notes import notes_of, provenance_of

    chosen = settings_from(settings, limit=limit, sample=sample)
    source = _open_texts(texts, text, None, data)
    encoder = open_encoder(model, loading)
    cut = _is_paragraphs(source) if split is None else split
    selection = Selection(
        source, limit=limit, sample=sample, seed=chosen.seed, keep_duplicates=keep_duplicates, split=cut
    )
    asked = {"model": encoder.name, "corpus": source.name, "limit": limit, "sample": sample, "split": cut}
    asked |= {"keep_duplicates": keep_duplicates}
    saved = checkpoints_in(state, encoder, asked, save_every) if state is not None or resume else None
    found = study(encoder, selection, chosen, checkpoints=saved, resume=resume, progress=progress)
    levels = [one.layer for one in found.layers]
    result = LayerStudy(
        source={
            "model": model_name or encoder.name,
            "model_kind": encoder.kind,
            "corpus": name or source.name,
            "layers": encoder.layers,
            "dimensions": encoder.dim,
            "texts": found.survey.tally.taken,
            "rows": found.result.rows,
            "row": chosen.rule.rows,
            "rows_by_kind": found.survey.by_kind,
        },
        layers=levels,
        words=found.words,
        sentences=found.sentences,
        story=tell(levels, found.words, chosen.rule.rows, chosen.least),
        notes=notes_of(found, selection, encoder, chosen),
        provenance=provenance_of(found, selection, encoder, chosen),
        published=published_curves(encoder.name, encoder.layers) if chosen.rule.rows == "words" else (),
        run=found.checkpoint,
    )
    if not keep_state:
        result.settle()
    return result


def compare_layers(models: Sequence[Any], corpora: Sequence[Any], **options: Any) -> LayerComparison:  # noqa: ANN401
    """Every model on every corpus, with the differences of each to the first; the options are those of `layers`."""
    from uncone.diagnosis.contrast import contrast
    from uncone.report.study import LayerComparison

    studies = [layers(model, texts, **options) for texts in corpora for model in models]
    first, least = studies[0], int(options.get("min_contexts", 5))
    same = [one.provenance["corpus_content"] == first.provenance["corpus_content"] for one in studies]
    return LayerComparison(
        studies,
        [contrast(one, first, paired=paired, least=least) for one, paired in zip(studies[1:], same[1:], strict=True)],
    )


def demo(**options: Any) -> LayerStudy:  # noqa: ANN401 - as for layers
    """Study the layers of all-MiniLM-L6-v2, which lies in a package, on the texts that every Python brings along."""
    from uncone.data.demo import demo_model, demo_texts

    called = "the topics of Python's help"
    return layers(demo_model(), demo_texts(), name=called, model_name="all-MiniLM-L6-v2", **options)


@dataclass(frozen=True)
class _EncodingOptions:
    """What `check` was told about encoding."""

    layer: str | int | None
    pooling: str | None
    prompt: str
    batch_size: int | None
    limit: int | None
    loading: Loading | None


def _encoded(
    source: Any,  # noqa: ANN401 - as for layers
    model: Any,  # noqa: ANN401
    text: str | None,
    label: str | None,
    data: str | os.PathLike[str] | None,
    options: _EncodingOptions,
) -> Source:
    """The vectors of texts: as the model's own recipe says, unless a layer or a pooling is asked for."""
    from uncone.encoders.open import sentence_source

    texts = _open_texts(source, [] if text is None else [text], label, data)
    return sentence_source(
        texts,
        model,
        layer=options.layer,
        pooling=options.pooling,
        prompt=options.prompt,
        batch_size=options.batch_size,
        limit=options.limit,
        loading=options.loading,
    )


def _open_texts(source: Any, text: Sequence[str], label: str | None, data: Any) -> TextSource:  # noqa: ANN401
    from uncone.data.texts import TextSource, open_texts

    return source if isinstance(source, TextSource) else open_texts(source, text=text, label=label, data=data)


def _is_paragraphs(source: TextSource) -> bool:
    """Whether a text of the source may hold several sentences, one after another."""
    return source.kind == "lines" or source.name.lower().replace("-", "").startswith("wikitext2")


def _check_options(scores: Sequence[float], workers: int, sample: int, seed: int) -> None:
    for score in scores:
        if not -1.0 <= score <= 1.0:
            raise OptionError(f"A score is a cosine between -1 and 1, not {score:g}.")
    if not 0 <= workers <= _MOST_WORKERS:
        raise OptionError(f"The number of workers is 0 (threads) to {_MOST_WORKERS}, not {workers}.")
    if sample < 2:
        raise OptionError(f"A sample needs at least 2 rows, not {sample}.")
    if not 0 <= seed < 1 << 32:
        raise OptionError(f"A seed is 0 or more and under {1 << 32:,}, not {seed}.")


def _provenance(space: Space, exact: bool) -> dict[str, Any]:
    return {
        "uncone": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "seed": space.seed,
        "precision": space.moments.dtype.name,
        "sampled_rows": space.sample.n,
        "pairs": space.cosines.pairs,
        "partition_function": "all rows" if exact else "row sample",
        **({"reading": space.source.note} if space.source.note else {}),
    }


def _suggestion(
    source: object,
    findings: dict[str, Finding],
    scores: Sequence[float],
    named: Sequence[tuple[str, str | None]],
    float64: bool,
) -> str | None:
    """The command that asks what a score means, when the vectors lie in a file and no score was asked for."""
    quantiles = findings["pair_cosine_quantiles"].value
    if scores or not isinstance(source, str | os.PathLike) or source == "-" or not isinstance(quantiles, dict):
        return None
    if quantiles["0.975"] >= 0.995:
        return None  # no score stands out
    options = [word for option, name in named if name for word in (option, name)]
    options += ["--float64"] if float64 else []
    options += ["--score", f"{quantiles['0.975']:.2f}"]
    path = os.fspath(source)
    return shlex.join(
        ["uncone", "check", *options, "--", path] if path.startswith("-") else ["uncone", "check", path, *options]
    )
