"""The layers of a model: `layers` and `compare_layers`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from uncone.verbs.encoding import Progress, open_texts_of

if TYPE_CHECKING:
    from uncone.analysis.layers.layer import Layer
    from uncone.data.texts.texts import TextSource
    from uncone.encoders.open import Loading
    from uncone.report.results.layers import LayerComparison, LayerStudy

__all__ = ["compare_layers", "layers"]


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
    curve: bool = False,
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
        curve: measure again on an eighth, a quarter and half of the texts, to see whether the measures have settled.
        loading: revision, device, precision, and what a stranger's model may do.
        state: a folder to save the run to, so that it can be resumed.
        save_every: seconds between two saves.
        resume: go on from what was saved.
        keep_state: leave what was saved when all is measured; `study.settle()` removes it.
        progress: called with the step, the texts done since the last call, and the texts there are.
        **settings: rows, word_pooling, pooling, kinds, cased, special, window, stride, words, mev_words, min_contexts,
            seed, memory, batch_size, no_sinks, sentences, deep, k, frequency, deep_sample: as the options of
            `uncone layers`.

    >>> study = layers("bert-base-cased", "snli")  # doctest: +SKIP
    >>> study.curve("baseline")  # doctest: +SKIP
    """
    from uncone.analysis.layers.layer import StudySize, sizes_up_to
    from uncone.analysis.layers.notes import notes_of, provenance_of
    from uncone.analysis.layers.published import published_curves
    from uncone.analysis.layers.settings import settings_from
    from uncone.analysis.layers.story import layer_story
    from uncone.analysis.layers.study import study
    from uncone.data.texts.selection import Selection
    from uncone.encoders.open import open_encoder
    from uncone.report.results.layers import LayerStudy
    from uncone.run.checkpoint import checkpoints_in

    chosen = settings_from(settings, limit=limit, sample=sample)
    source = open_texts_of(texts, text, None, data)
    encoder = open_encoder(model, loading)
    cut = _is_paragraphs(source) if split is None else split
    taking: dict[str, Any] = {"limit": limit, "sample": sample, "keep_duplicates": keep_duplicates, "split": cut}
    taking["seed"] = chosen.seed
    selection = Selection(source, **taking)
    asked = {"model": encoder.name, "corpus": source.name, **{key: taking[key] for key in taking if key != "seed"}}
    saved = checkpoints_in(state, encoder, asked, save_every) if state is not None or resume else None
    found = study(encoder, selection, chosen, checkpoints=saved, resume=resume, progress=progress)
    levels = list(found.layers)
    notes = [*notes_of(found, encoder, chosen), *([] if found.deep is None else found.deep.notes)]
    sizes: list[StudySize] = []
    if curve:
        plain = replace(chosen, deep=False, keep_sentences=False)

        def measure(size: int) -> list[Layer]:
            part = Selection(source, **{**taking, "sample": size})
            return list(study(encoder, part, plain, progress=progress).layers)

        sizes, missing = sizes_up_to(found.survey.tally.taken, levels, measure)
        notes += missing
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
        story=layer_story(levels, found.words, chosen.rule.rows, chosen.least),
        notes=notes,
        provenance=provenance_of(found, selection, encoder, chosen),
        published=published_curves(encoder.name, encoder.layers) if chosen.rule.rows == "words" else (),
        deep=found.deep,
        sizes=sizes,
        run=found.checkpoint,
    )
    if not keep_state:
        result.settle()
    return result


def compare_layers(models: Sequence[Any], corpora: Sequence[Any], **options: Any) -> LayerComparison:  # noqa: ANN401
    """Every model on every corpus, with the differences of each to the first; the options are those of `layers`.

    Several measures move with the number of texts. So corpora of different sizes are compared at the smallest: of the
    others a seeded sample is measured.
    """
    from uncone.analysis.layers.contrast import contrast
    from uncone.report.results.layers import LayerComparison

    sources = [open_texts_of(texts, options.get("text", ()), None, options.get("data")) for texts in corpora]
    texts_in = [_count(source, options) for source in sources] if len(sources) > 1 else [0]
    studies = []
    for source, n in zip(sources, texts_in, strict=True):
        size = {"sample": min(texts_in)} if n > min(texts_in) else {}
        for model in models:
            one = layers(model, source, **{**options, **size})
            studies.append(replace(one, source={**one.source, "texts_in_corpus": n}) if size else one)
    first, least = studies[0], int(options.get("min_contexts", 5))
    same = [one.provenance["corpus_content"] == first.provenance["corpus_content"] for one in studies]
    return LayerComparison(
        studies,
        [contrast(one, first, paired=paired, least=least) for one, paired in zip(studies[1:], same[1:], strict=True)],
    )


def _count(source: TextSource, options: Mapping[str, Any]) -> int:
    """How many texts of a corpus would be measured."""
    from uncone.data.texts.selection import Selection

    known = {name: options.get(name) for name in ("limit", "sample")}
    cut = _is_paragraphs(source) if options.get("split") is None else bool(options["split"])
    copies, seed = bool(options.get("keep_duplicates")), int(options.get("seed", 0))
    return sum(1 for _ in Selection(source, **known, seed=seed, keep_duplicates=copies, split=cut).read())


def _is_paragraphs(source: TextSource) -> bool:
    """Whether a text of the source may hold several sentences, one after another."""
    return source.kind == "lines" or source.name.lower().replace("-", "").startswith("wikitext2")
