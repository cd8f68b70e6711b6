"""The measured figures of the suite, looked up by table, row and dataset."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from uncone.data.tasks.sts import SETS
from uncone.evaluation.papers.layouts import Layout
from uncone.evaluation.papers.published import published_family
from uncone.evaluation.papers.suite import Figure

__all__ = ["Figures", "Key", "dataset_title", "hundred"]

Key = tuple[str, str, str]
"""A measured row: its part, its name, and what it was fitted on."""


class Figures:
    """The figures of a model, and of a sentence model for the supervised tables."""

    def __init__(self, model: str, supervised: str | None, figures: Sequence[Figure]) -> None:
        self.model, self.supervised, self.all = model, supervised, figures
        self._places = {(each.part, each.row, each.fit, each.dataset): each for each in figures}

    def rows(self, layout: Layout) -> list[Key]:
        """The measured rows of a table, in its order."""
        keys = dict.fromkeys((each.part, each.row, each.fit) for each in self.all if each.part in layout.parts)
        own = [key for key in keys if not layout.labels or key[1] in layout.labels]
        return sorted(own, key=lambda key: layout.labels.index(key[1]) if layout.labels else 0)

    def figure(self, key: Key, dataset: str) -> Figure | None:
        """A row on a dataset."""
        return self._places.get((*key, dataset))

    def value(self, key: Key, dataset: str, measure: str) -> float | None:
        """A cell; None if it was not measured or is undefined."""
        figure = self.figure(key, dataset)
        return None if figure is None else figure.values.get(measure)

    def average(self, key: Key, measure: str, datasets: Sequence[str]) -> float | None:
        """The plain mean of a row over datasets; None if one is missing."""
        values = [self.value(key, dataset, measure) for dataset in datasets]
        defined = [value for value in values if value is not None]
        return fmean(defined) if defined and len(defined) == len(values) else None

    def gain(self, key: Key, raw: Key, measure: str, datasets: Sequence[str]) -> float | None:
        """The average of a row minus that of another."""
        after, before = (self.average(row, measure, datasets) for row in (key, raw))
        return None if after is None or before is None else after - before

    def model_of(self, layout: Layout) -> str | None:
        """The model that a table is about, if there is one."""
        return self.supervised if "supervised" in layout.parts else self.model

    def is_of_paper(self, layout: Layout) -> bool:
        """Whether that is the model of the paper."""
        model = self.model_of(layout)
        return model is not None and published_family(model) == layout.family


def dataset_title(name: str) -> str:
    """A dataset as papers call it.

    >>> dataset_title("stsb"), dataset_title("sst2")
    ('STS-B', 'SST-2')
    """
    return SETS[name].title if name in SETS else {"sst2": "SST-2"}.get(name, name)


def hundred(value: float | None) -> float | None:
    """A score x 100."""
    return None if value is None else 100 * value
