"""What is known of a space beside its vectors: the model on diverse text, and words before and after a repair."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from uncone.analysis.advice.rules import FEWEST_VECTORS, RULES, WITNESSED
from uncone.analysis.advice.topic import DiverseBaseline, caveats, unsuited
from uncone.analysis.advice.words import WordSample, word_sample
from uncone.analysis.cosine.baseline import baseline
from uncone.analysis.space.space import Space, measure_space
from uncone.data.source import Source
from uncone.data.texts.diverse import SHIPPED, diverse_texts
from uncone.errors import FitError, UnconeError
from uncone.run.measure import Plan

if TYPE_CHECKING:
    from uncone.data.texts.texts import TextSource

__all__ = ["diverse_baseline", "repair_witness"]

_READ = 500
"""Texts that are looked at for their language and length."""
_MOST_ROWS = 20_000
"""Vectors that a repair is fitted on to see what it does to the agreement with words."""


def diverse_baseline(
    source: Source,
    choice: Any,  # noqa: ANN401 - as `diverse_texts` takes it
    plan: Plan,
    seed: int = 0,
) -> DiverseBaseline | None:
    """The baseline on diverse text of the model that `source` comes from; None without one, or if it is not wanted.

    Raises:
        SourceError: the user's own diverse text can't be read.
    """
    if type(source).with_texts is Source.with_texts:
        return None
    texts = diverse_texts(choice)
    vectors = None if texts is None else source.with_texts(texts)
    if texts is None or vectors is None:
        return None
    try:
        return _measure(vectors, texts, _first_texts(source), Plan(plan.workers, plan.dtype), seed)
    except UnconeError as error:
        if texts.name != SHIPPED:
            raise
        return DiverseBaseline.missing(texts.name, str(error).rstrip("."))


def _measure(vectors: Source, texts: TextSource, own: Sequence[str], plan: Plan, seed: int) -> DiverseBaseline:
    if reason := unsuited(_made_by_model(vectors).unknown_share(), texts.name):
        return DiverseBaseline.missing(texts.name, reason)
    space = measure_space(vectors, plan, seed=seed)
    caveat = caveats(own, [text for _, text, _ in texts.read()], texts.name)
    return DiverseBaseline.of(baseline(space), space.distinct, texts.name, caveat)


def _made_by_model(vectors: Any) -> Any:  # noqa: ANN401 - sources around vectors that a model makes of texts
    return vectors if hasattr(vectors, "texts") else _made_by_model(getattr(vectors, "source", None) or vectors.after)


def _first_texts(vectors: Source) -> list[str]:
    return [text for _, text, _ in islice(_made_by_model(vectors).texts.read(), _READ)]


def repair_witness(space: Space) -> float | None:
    """What the repair that rules ask about adds to the agreement with words; None if no rule asks, or texts are few."""
    baselines = [rule.condition.baseline[0] for rule in RULES if "witness" in rule.condition.required]
    if space.units.baseline < min(baselines, default=1.0) or space.distinct < FEWEST_VECTORS:
        return None
    sample = space.derived(word_sample)
    if not isinstance(sample, WordSample):
        return None
    from uncone.repairs.registry import make_seeded  # here: few spaces come so far

    repair = make_seeded(WITNESSED.method, WITNESSED.options(space.dim), space.seed)
    try:
        repair.fit(space.sample.at_most(_MOST_ROWS).vectors)
    except FitError:
        return None  # nor will the repair be recommended for these vectors
    return sample.pairs.difference(sample.vectors, repair.map(sample.vectors))
