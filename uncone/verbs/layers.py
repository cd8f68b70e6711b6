"""The layers of a model: `layers` and `compare_layers`."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from uncone.errors import OptionError, UnconeError
from uncone.verbs.options.layers import LayersOptions
from uncone.verbs.spaces.encoding import is_paragraphs, open_texts_of
from uncone.verbs.spaces.verb import verb

if TYPE_CHECKING:
    from uncone.analysis.advice.topic import DiverseBaseline
    from uncone.analysis.layers.layer import Layer
    from uncone.analysis.layers.settings import StudySettings
    from uncone.analysis.layers.study import Checkpoints
    from uncone.data.texts.selection import Selection
    from uncone.data.texts.texts import TextSource
    from uncone.encoders.encoder import Encoder
    from uncone.report.documents.layers import LayerComparison, LayerStudy
    from uncone.report.documents.layers.papers import LayerPapers
    from uncone.run.parts import Cluster

__all__ = ["compare_layers", "layer_papers", "layers"]

_READ = 500
"""Texts that are looked at for their language and length."""


@verb(LayersOptions)
def layers(model: Any, texts: Any, *, options: LayersOptions) -> LayerStudy:  # noqa: ANN401 - names, paths or objects
    """Measure every layer of a model on texts, in one pass.

    `model` is a folder, a name on the Hugging Face hub, a file of word vectors, a folder with ELMo, or an encoder;
    `texts` a path (.txt, .csv, .tsv, .jsonl, .parquet), a corpus (snli, wikitext2, ptb, sts), or strings.

    >>> study = layers("bert-base-cased", "snli")  # doctest: +SKIP
    >>> study.curve("baseline")  # doctest: +SKIP
    """
    from uncone.analysis.layers.contrast import published_curves
    from uncone.analysis.layers.layer import StudySize, sizes_up_to
    from uncone.analysis.layers.settings import settings_from
    from uncone.analysis.layers.story import layer_story
    from uncone.analysis.layers.study import notes_of, provenance_of, study
    from uncone.data.texts.diverse import diverse_texts
    from uncone.data.texts.selection import Selection
    from uncone.report.documents.layers import LayerStudy

    settings = settings_from(options.settings())
    source = open_texts_of(texts, options.text, None, options.data)
    encoder, cluster = _opened(model, options)
    sampling = _sampling(source, options)
    selection = Selection(source, **sampling, seed=settings.seed)
    saved = _checkpoints(encoder, source, sampling, options)
    measure = partial(study, encoder, progress=options.progress, threads=options.workers, cluster=cluster)
    diverse = partial(_diverse, encoder, selection, settings, diverse_texts(options.diverse), options)
    run = measure(selection, settings, checkpoints=saved, resume=options.resume, diverse=diverse)
    levels = list(run.layers)
    notes = [*notes_of(run, encoder, settings), *([] if run.deep is None else run.deep.notes)]
    sizes: list[StudySize] = []
    if options.curve:
        plain = replace(settings, deep=False, keep_sentences=False)

        def measure_some(size: int) -> list[Layer]:
            part = Selection(source, **{**sampling, "sample": size}, seed=settings.seed)
            return list(measure(part, plain).layers)

        sizes, missing = sizes_up_to(run.survey.tally.n_texts, levels, measure_some)
        notes += missing
    result = LayerStudy(
        source={
            "model": options.model_name or encoder.name,
            "model_kind": encoder.kind,
            "corpus": options.name or source.name,
            "layers": encoder.layers,
            "dimensions": encoder.dim,
            "texts": run.survey.tally.n_texts,
            "rows": run.result.rows,
            "row": settings.rule.rows,
            "rows_by_kind": run.survey.by_kind,
        },
        layers=levels,
        words=run.words,
        sentences=run.sentences,
        story=layer_story(levels, run.words, settings.rule.rows, settings.least),
        notes=notes,
        provenance=provenance_of(run, selection, encoder, settings),
        published=published_curves(encoder.name, encoder.layers) if settings.rule.rows == "words" else (),
        deep=run.deep,
        sizes=sizes,
        run=run.checkpoint,
    )
    if not options.keep_state:
        result.settle()
    return result


def _diverse(
    encoder: Encoder, selection: Selection, settings: StudySettings, source: TextSource | None, options: LayersOptions
) -> list[DiverseBaseline]:
    """The baseline of every layer on texts on many subjects; empty if it is not wanted."""
    from uncone.analysis.advice.topic import DiverseBaseline, caveats, unsuited
    from uncone.analysis.layers.study import study
    from uncone.data.texts.diverse import SHIPPED
    from uncone.data.texts.selection import Selection as Texts
    from uncone.encoders.encoder import Window, unknown_share

    if source is None:
        return []
    # A copy, because some encoders know only the texts that they were prepared for.
    own, other = [unit.text for unit in islice(selection.read(), _READ)], copy.copy(encoder)
    texts = Texts(source, split=is_paragraphs(source) if options.split is None else options.split)
    diverse = [unit.text for unit in texts.read()]
    plain = replace(settings, words=(), mev_words=0, deep=False, keep_sentences=False)
    try:
        other.prepare(diverse)
        passages = [cut[0] for cut in other.passages(diverse, Window(cut=True)) if cut]
        if reason := unsuited(unknown_share(passages, other.unknown_token), source.name):
            return [DiverseBaseline.missing(source.name, reason)] * encoder.layers
        run = study(other, texts, plain, threads=options.workers)
    except UnconeError as error:
        if source.name != SHIPPED:
            raise
        return [DiverseBaseline.missing(source.name, str(error).rstrip("."))] * encoder.layers
    caveat = caveats(own, diverse, source.name, of_texts=not settings.rule.has_words)
    n, noun = run.survey.distinct, "words" if settings.rule.has_words else "texts"
    return [DiverseBaseline.of(layer["baseline"], n, source.name, caveat, noun) for layer in run.layers]


@verb(LayersOptions)
def compare_layers(models: Sequence[Any], corpora: Sequence[Any], *, options: LayersOptions) -> LayerComparison:
    """Every model on every corpus, with the differences of each to the first.

    With `revisions`, every checkpoint of each model; with `control`, also its architecture with random weights.

    Several measures move with the number of texts. So corpora of different sizes are compared at the smallest: of the
    others a random sample is measured.
    """
    return _compared(list(_studies(models, corpora, options)), options)


@verb(LayersOptions)
def layer_papers(
    models: Sequence[Any],
    corpora: Sequence[Any],
    methods: Any = None,  # noqa: ANN401 - a text, or methods
    *,
    options: LayersOptions,
) -> LayerPapers:
    """Make the figures and tables of the papers on layers: every model on every corpus, and repairs of frequency.

    `methods` are the repairs after which word frequency is measured again, by default center, standardize, droptop,
    whiten, clustered and flow. Each is fitted on the input embeddings, and on the sampled words of the last layer.
    """
    from uncone.evaluation.frequency import METHODS, bias_after_repairs, frequency_methods
    from uncone.report.documents.layers.papers import LayerPapers

    if options.rows not in ("words", "tokens"):
        raise OptionError(f"The papers measure words: use --rows words or tokens, not {options.rows}.")
    repairs = frequency_methods(METHODS if methods is None else methods)
    options = replace(options, deep=True, keep_vectors=True)
    studies, spaces = [], []
    for study in _studies(models, corpora, options):
        assert study.deep is not None
        for space in study.deep.spaces:
            name = study.name
            spaces.append(bias_after_repairs(space, name, repairs, seed=options.seed, progress=options.progress))
        # Of many models, the vectors would fill the memory.
        studies.append(replace(study, deep=replace(study.deep, spaces=())))
    return LayerPapers(_compared(studies, options), spaces)


def _studies(models: Sequence[Any], corpora: Sequence[Any], options: LayersOptions) -> Iterator[LayerStudy]:
    """Every model and its variants on every corpus; of larger corpora as many texts as the smallest has."""
    from uncone.verbs.spaces.variants import model_variants

    variants = model_variants(models, options)
    sources = [open_texts_of(texts, options.text, None, options.data) for texts in corpora]
    sizes = [_count(source, options) for source in sources] if len(sources) > 1 else [0]
    plain: dict[str, Any] = {"revisions": (), "control": None}
    for source, size in zip(sources, sizes, strict=True):
        sample = {"sample": min(sizes)} if size > min(sizes) else {}
        for variant in variants:
            study = layers(variant.model, source, options=options, **{**plain, **sample, **variant.options})
            more: dict[str, Any] = {"texts_in_corpus": size} if sample else {}
            more |= {"revision": variant.revision} if variant.revision else {}
            yield replace(study, source={**study.source, **more}) if more else study


def _compared(studies: Sequence[LayerStudy], options: LayersOptions) -> LayerComparison:
    """The studies with the differences of each to the first."""
    from uncone.analysis.layers.contrast import contrast
    from uncone.report.documents.layers import LayerComparison

    first = studies[0]
    same = [study.provenance["corpus_content"] == first.provenance["corpus_content"] for study in studies]
    return LayerComparison(
        studies,
        [
            contrast(study, first, paired=paired, least=options.min_contexts)
            for study, paired in zip(studies[1:], same[1:], strict=True)
        ],
    )


def _opened(model: Any, options: LayersOptions) -> tuple[Encoder, Cluster | None]:  # noqa: ANN401 - as `layers` takes it
    """The encoder of this machine; and the engine with the model as its workers open it, if there is one.

    Raises:
        OptionError: the options make several studies.
    """
    from uncone.encoders.open import open_encoder
    from uncone.run.models import SentModel
    from uncone.run.parts import Cluster

    if options.compares:
        raise OptionError("revisions and control make several studies: use compare_layers([model], [texts], ...).")
    loading, engine = options.loading, options.executor
    if engine is None:
        return open_encoder(model, loading), None
    # Workers may have GPUs that this machine lacks.
    encoder = open_encoder(model, replace(loading, device="auto") if loading.device == "cuda" else loading)
    return encoder, Cluster(engine, SentModel.of(model, loading, encoder), options.any_kernel)


def _sampling(source: TextSource, options: LayersOptions) -> dict[str, Any]:
    """The options that select the texts to measure."""
    return {
        "limit": options.limit,
        "sample": options.sample,
        "keep_duplicates": options.keep_duplicates,
        "split": is_paragraphs(source) if options.split is None else options.split,
    }


def _checkpoints(
    encoder: Encoder, source: TextSource, sampling: dict[str, Any], options: LayersOptions
) -> Checkpoints | None:
    """Where the state of the run is saved, if it is; revisions of a model have its name, but each its own state."""
    from uncone.run.checkpoint import checkpoints_in

    if options.state is None and not options.resume:
        return None
    revision = {} if options.revision is None else {"revision": options.revision}
    request = {"model": encoder.name, "corpus": source.name, **sampling, **revision}
    return checkpoints_in(options.state, encoder, request, options.save_every)


def _count(source: TextSource, options: LayersOptions) -> int:
    """The number of texts that would be measured."""
    from uncone.data.texts.selection import Selection

    return sum(1 for _ in Selection(source, **_sampling(source, options), seed=options.seed).read())
