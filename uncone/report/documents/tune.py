"""The result of `tune`: the cone while it opens, scores before and after, and the best repair without training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from uncone.analysis.measures.finding import Level
from uncone.analysis.number_format import cosine, count, plain
from uncone.evaluation.papers.published import published_rows
from uncone.report import document as doc
from uncone.report.charts.model import Axis, Chart, Forest, Line, Points
from uncone.report.documents.evaluate import tables as score_tables
from uncone.report.documents.evaluate.scores import Scores, points, signed_points, trend
from uncone.report.result import Result
from uncone.report.text import between, last_name, number_text

if TYPE_CHECKING:
    from uncone.analysis.intervals.bootstrap import Difference
    from uncone.evaluation.table import Row
    from uncone.report.documents.layers import LayerComparison
    from uncone.tuning.comparison import Comparison, RepairChoice
    from uncone.tuning.results import Probe
    from uncone.tuning.trainer import Training

__all__ = ["Tuned"]

_STEP = Axis("step", "step", whole=True)
_MOST_INTERVALS = 3
"""Datasets that a table has room for with their intervals."""
_ROUNDER = 0.02
"""A change of the IsoScore that is worth a sentence."""
_LAYER_CHARTS = ("baseline", "selfsim_adjusted", "intrasim_adjusted_matched", "mev_adjusted", "isoscore_corrected")
_NLI_MODEL = "bert-base-nli-mean-tokens"


@dataclass(frozen=True, eq=False)
class Tuned(Result):
    """A tuned model: how it was trained, and what that was worth."""

    model: str
    out: str
    objective: str
    source: str
    examples: int
    settings: Mapping[str, Any]
    training: Training
    dev: str = ""
    repair: RepairChoice | None = None
    comparison: Comparison | None = None
    layers: LayerComparison | None = None
    notes: Sequence[str] = field(default_factory=list)

    @property
    def first(self) -> Probe:
        """The untrained model, on held-out texts."""
        return self.training.probes[0]

    @property
    def last(self) -> Probe:
        """The model that was saved, on held-out texts."""
        return self.training.best

    @property
    def headline(self) -> str:
        """What happened to the cone, in a sentence."""
        old, new = self.first.baseline, self.last.baseline
        if old is None or new is None:
            return "The model was tuned; its cone could not be measured."
        change = f"unrelated texts score {cosine(new)} on average, {cosine(old)} before"
        if abs(new - old) < 0.05:
            return f"The cone stayed as it was: {change}."
        return f"The cone {'opened' if new < old else 'narrowed'}: {change}."

    def lines(self) -> list[str]:
        """What a reader needs to know, in sentences written from the numbers."""
        lines = []
        rows = self._rows()
        if rows:
            lines.append(_score_sentence(rows["untuned"], rows["tuned"], self._sets))
            lines += [_repair_sentence(self, rows)] if self.repair is not None else []
            lines += [_then_sentence(rows, name) for name in rows if name.startswith("tuned, ")]
        if rounder := _rounder_sentence(self, rows):
            lines.append(rounder)
        best, total = self.last.step, self.training.step
        if self.dev and best < total:
            lines.append(f"Step {best} of {total} scored best on {self.dev}, so its weights are the ones saved.")
        return lines

    @property
    def _sets(self) -> str:
        assert self.comparison is not None
        names = self.comparison.table.datasets
        return _title(names[0]) if len(names) == 1 else f"The average over {len(names)} datasets"

    def _rows(self) -> dict[str, Row]:
        if self.comparison is None:
            return {}
        # A repair under two protocols: the transductive one is told apart by its name.
        names: dict[str, Row] = {}
        for row in self.comparison.table.rows:
            suffix = ", fitted on the target" if row.method.protocol == "transductive" else ""
            names[f"{row.method.name}{suffix}"] = row
        return names

    def _values(self) -> dict[str, Any]:
        table = None if self.comparison is None else self.comparison.table
        return {
            "model": self.model,
            "out": self.out,
            "headline": self.headline,
            "lines": self.lines(),
            "objective": self.objective,
            "source": self.source,
            "examples": self.examples,
            "settings": self.settings,
            "dev": self.dev,
            "best_step": self.last.step,
            "steps": self.training.step,
            "seconds": self.training.seconds,
            "resumed_at": self.training.resumed,
            "losses": [{"step": step, "loss": loss} for step, loss in self.training.losses],
            "probes": [asdict(probe) for probe in self.training.probes],
            "repair": None if self.repair is None else _repair_values(self.repair),
            "rows": [] if table is None else [vars(row) for row in table.rows],
            "beyond_repair": None if self._beyond is None else self._beyond,
            "layers": None if self.layers is None else self.layers._values(),
            "notes": self.notes,
        }

    @property
    def _beyond(self) -> Difference | None:
        """The difference of the tuned model from the repaired untuned one."""
        row = None if self.comparison is None else self.comparison.beyond
        return None if row is None else row.difference

    def document(self) -> doc.Document:
        """Curves of the training, scores, every layer before and after, and how it was made."""
        # A rounder space isn't a better one: only the scores can say that it is.
        rows = self._rows()
        gain = trend(rows["tuned"].difference) if rows else 0
        level = {1: Level.HEALTHY, 0: Level.NOTE, -1: Level.CROWDED}[gain]
        cards = [
            doc.Card(number_text(self.last.baseline, cosine), "unrelated texts"),
            doc.Card(number_text(self.last.isoscore, plain), "IsoScore"),
            doc.Card(_seconds(self.training.seconds), "training"),
        ]
        verdict = doc.Verdict(self.headline, level, self.lines(), cards=cards, bulleted=True, command=self._command)
        notes = doc.Notes(list(self.notes))
        return doc.Document(
            title=self.headline,
            name=last_name(self.out),
            subtitle=f"{last_name(self.model)} tuned on {self.source} · {self.objective} · "
            f"{count(self.examples, 'example')}, {count(self.training.step, 'step')}",
            verdicts=[verdict],
            sections=doc.present(
                self._score_section(),
                doc.Section("Training", [*_training_charts(self), _probe_fold(self)], brief=[_brief_probes(self)]),
                self._layer_section(),
                doc.Section("Notes", [notes], brief=[notes]) if self.notes else None,
                doc.Section("Settings", [doc.Facts(_facts(self))]),
            ),
        )

    @property
    def _command(self) -> str:
        return f"uncone check texts.txt --model {self.out}"

    def _score_section(self) -> doc.Section | None:
        if self.comparison is None:
            return None
        from dataclasses import replace

        table = self.comparison.table
        if self.objective == "nli" and self.settings.get("then"):
            table = replace(table, published=published_rows(_NLI_MODEL, table.datasets))
        blocks: list[doc.Block] = [_score_table(self), _difference_chart(self)]
        if self.settings.get("then"):
            scores = Scores(table)
            tabs = [(way, [score_tables.score_table(scores, way, digits=2)]) for way in scores.aggregations]
            blocks.append(doc.Fold("In the layout of the papers", [doc.Tabs(tabs)], open=True))
        intro = (
            "Spearman x 100, on pairs that training did not see. Differences are paired: every model scores the same "
            "pairs. The repair is chosen on the dev pairs, not on these."
        )
        return doc.Section("Before and after", blocks, intro, [_score_table(self, brief=True)])

    def _layer_section(self) -> doc.Section | None:
        if self.layers is None:
            return None
        charts = [chart for chart in self.layers.document().charts() if chart.name in _LAYER_CHARTS]
        intro = "The curves of uncone layers on held-out texts, before and after."
        return doc.Section("Every layer, before and after", list(charts), intro)

    def card(self) -> str:
        """The model card: what it was trained on, with which settings, and what changed."""
        from uncone import __version__

        rows = self._rows()
        scores = [
            f"| {name} | " + " | ".join(points(cell.spearman.all) for cell in row.cells) + " |"
            for name, row in rows.items()
        ]
        heads = [] if self.comparison is None else [_heading(name) for name in self.comparison.table.datasets]
        table = ["| | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|", *scores] if scores else []
        probes = [f"| {' | '.join(map(str, row))} |" for row in _geometry_rows(self)]
        facts = [f"* {name}: {value}" for name, value in _facts(self)]
        return "\n".join(
            [
                *("---", "library_name: sentence-transformers", "pipeline_tag: sentence-similarity", "tags:"),
                *("- sentence-transformers", "- sentence-similarity", "---", "", f"# {last_name(self.out)}", ""),
                f"{last_name(self.model)}, tuned with uncone {__version__}. {self.headline}",
                *(["", *self.lines()] if self.lines() else []),
                *("", "```python", "from sentence_transformers import SentenceTransformer", ""),
                *(f'model = SentenceTransformer("{last_name(self.out)}")', 'vectors = model.encode(["a text"])'),
                *("```", "", "## Geometry of held-out texts", "", "| | before | after |", "|---|---|---|", *probes, ""),
                *(["## Scores (Spearman x 100)", "", *table, ""] if table else []),
                *("## Training", "", *facts, ""),
            ]
        )

    def __repr__(self) -> str:
        """The result in a line."""
        return f"<Tuned {self.out}: {self.headline}>"


_TITLES = {
    "held-out pairs": "The score on held-out pairs",
    "stsb": "STS-B",
    "sickr": "SICK-R",
    **{f"sts{year}": f"STS{year}" for year in range(12, 17)},
}


def _title(dataset: str) -> str:
    """A dataset as the subject of a sentence."""
    return _TITLES.get(dataset, f"The score on {dataset}")


def _heading(dataset: str) -> str:
    return dataset if dataset == "held-out pairs" else _TITLES.get(dataset, dataset)


_ACTIONS = {
    "center": "Centering",
    "standardize": "Standardizing",
    "whiten": "Whitening",
    "mute": "Muting rogue dimensions",
    "droptop": "Removing the top directions",
}
_GEOMETRY = {
    "baseline": "cosine of unrelated texts",
    "isoscore": "IsoScore",
    "uniformity": "uniformity",
    "alignment": "alignment",
    "dev": "dev score",
}


def _repair_values(choice: RepairChoice) -> dict[str, Any]:
    method = {"name": choice.name, "method": choice.method.repair, "options": dict(choice.method.options)}
    return {**method, "dev": choice.score, "seconds": choice.seconds, "tried": choice.tried}


def _seconds(value: float) -> str:
    if value < 90:
        return f"{max(value, 1):.0f} s"
    return f"{value / 60:.0f} min" if value < 5400 else f"{value / 3600:.1f} h"


def _score_sentence(old: Row, new: Row, name: str) -> str:
    gain = new.difference
    change = f"from {points(old.average)} to {points(new.average)}"
    if gain is None or gain.value is None:
        return f"{name} went {change}."
    bounds = between(gain.low, gain.high, signed_points)
    if not trend(gain):
        return f"{name} did not change for certain: {change} ({bounds})."
    return f"{name} {'rose' if gain.value > 0 else 'fell'} {change} ({bounds})."


def _repair_sentence(result: Tuned, rows: Mapping[str, Row]) -> str:
    choice = result.repair
    assert choice is not None
    row = rows.get(f"untuned, {choice.name}")
    if row is None:
        return ""
    reach = f"{_action(choice)}, without any training, reaches {points(row.average)} in {_seconds(choice.seconds)}"
    cost = f"; tuning took {_seconds(result.training.seconds)}"
    gain = result._beyond
    if gain is None or gain.value is None:
        return f"{reach}{cost}."
    bounds = between(gain.low, gain.high, signed_points)
    if trend(gain) > 0:
        return f"{reach}{cost} and is better by {points(gain.value)} ({bounds})."
    worse = "is worse" if trend(gain) < 0 else "is not proven better"
    return f"{reach}{cost} and {worse} ({bounds}). The repair is the cheaper choice."


def _action(choice: RepairChoice) -> str:
    """A repair as the subject of a sentence."""
    method, k = choice.method, choice.method.options.get("k")
    if method.repair == "droptop" and k:
        return f"Removing {k} {'direction' if k == 1 else 'directions'}"
    if method.repair == "clustered":
        return f"The cluster-based repair{' of tokens' if method.level == 'token' else ''}"
    return _ACTIONS.get(method.repair, f"The repair {choice.name}")


def _then_sentence(rows: Mapping[str, Row], name: str) -> str:
    row, tuned = rows[name], rows["tuned"]
    repair = name.removeprefix("tuned, ")
    return f"After tuning, {repair} takes the score from {points(tuned.average)} to {points(row.average)}."


def _rounder_sentence(result: Tuned, rows: Mapping[str, Row]) -> str:
    """A warning where the space became more isotropic and the score fell."""
    old, new = result.first.isoscore, result.last.isoscore
    gain = rows["tuned"].difference if rows else None
    if old is None or new is None or gain is None or gain.value is None:
        return ""
    if new > old + _ROUNDER and gain.value < 0:
        certain = "" if trend(gain) else ", though not for certain"
        return (
            f"The space became more isotropic (IsoScore {plain(old)} to {plain(new)}) and the score fell{certain}: "
            "isotropy is not the aim."
        )
    if new < old - _ROUNDER and trend(gain) > 0:
        return f"The space became less isotropic (IsoScore {plain(old)} to {plain(new)}) and better at its task."
    return ""


def _score_table(result: Tuned, *, brief: bool = False) -> doc.Table:
    assert result.comparison is not None
    rows, table = result._rows(), result.comparison.table
    cost = {"tuned": result.training.seconds}
    if result.repair is not None:
        cost[f"untuned, {result.repair.name}"] = result.repair.seconds
    lines = []
    for name, row in rows.items():
        wide = len(table.datasets) > _MOST_INTERVALS  # then only the average has room for its interval
        cells = [_score_cell(cell.spearman.all, cell.difference, short=wide) for cell in row.cells]
        average = [_score_cell(row.average, row.difference)] if len(table.datasets) > 1 else []
        lines.append([name, *cells, *average, _seconds(cost[name]) if name in cost else ""])
    heads = [_heading(name) for name in table.datasets] + (["average"] if len(table.datasets) > 1 else [])
    remark = "A star marks a proven difference from the untuned model, ↓* a proven loss. Time: training or fitting."
    return doc.table(["", *heads, "time"], lines, remarks=[] if brief else [remark], name="scores")


def _difference_chart(result: Tuned) -> Chart:
    """Differences from the untuned model, on the average over the datasets."""
    rows = [(name, row.difference) for name, row in result._rows().items() if row.difference is not None]
    usable = [(name, gain) for name, gain in rows if gain.value is not None]
    low, values, high = (
        [None if (end := getattr(gain, side)) is None else 100 * end for _, gain in usable]
        for side in ("low", "value", "high")
    )
    is_open = [not trend(gain) for _, gain in usable]
    mark = Forest(
        range(len(usable)), values, low, high, "difference", open=is_open, n=[gain.units for _, gain in usable]
    )
    x = Axis("difference from the untuned model (points)", "difference", zero=True, zero_line=True)
    caption = "Spearman x 100 with 95 % intervals. A filled mark is proven, an open one is not."
    y = Axis(categories=[name for name, _ in usable], name="model")
    return Chart("differences", "Differences from the untuned model", caption, [mark], x, y, wide=True)


def _score_cell(value: float | None, difference: Difference | None, *, short: bool = False) -> doc.Cell:
    if difference is None or difference.value is None:
        return doc.Cell(points(value))
    marks = {1: "*", -1: "↓*", 0: ""}
    bounds = "" if short else between(difference.low, difference.high, signed_points)
    return doc.Cell(points(value), bounds, Level.NOTE, mark=marks[trend(difference)])


def _training_charts(result: Tuned) -> list[Chart]:
    """The loss, and every measure of the probes, by step."""
    losses, probes = result.training.losses, result.training.probes
    steps = [float(probe.step) for probe in probes]
    loss = Line([float(step) for step, _ in losses], [value for _, value in losses], "loss", weight="thin")
    charts = [Chart("loss", "Loss", "The training loss of every step.", [loss], _STEP, Axis("loss", "loss"))]
    captions = {
        "baseline": ("The cone opening", "mean cosine", "Mean cosine of two unrelated held-out texts."),
        "dev": ("Score on the dev pairs", "Spearman", f"Rank correlation with the labels of {result.dev}."),
        "isoscore": ("IsoScore", "IsoScore", "From 0 (one direction) to 1 (all directions equal). It is not the aim."),
        "uniformity": ("Uniformity", "log E exp(−2|u − v|²)", "How evenly texts spread on the sphere; lower is more."),
        "alignment": ("Alignment", "E|u − v|²", "How far apart texts are that belong together; lower is closer."),
    }
    for name, (title, axis, caption) in captions.items():
        values = [getattr(probe, name) for probe in probes]
        if any(value is not None for value in values):
            marks = [Line(steps, values, title, points=True)]
            ring = Points([float(result.last.step)], [getattr(result.last, name)], color="ink", size=14, ring=True)
            end = Points(ring.x, ring.y, color="ink", size=14, ring=True, texts=["saved"])
            charts.append(Chart(f"probe-{name}", title, caption, [*marks, end], _STEP, Axis(axis, name)))
    return charts


def _probe_fold(result: Tuned) -> doc.Block:
    names = [name for name in _GEOMETRY if any(getattr(probe, name) is not None for probe in result.training.probes)]
    rows = [
        [f"{probe.step:,}", *(number_text(getattr(probe, name), "{:.3f}".format) for name in names)]
        for probe in result.training.probes
    ]
    return doc.Fold("Every probe", [doc.table(["step", *(_GEOMETRY[name] for name in names)], rows)])


def _brief_probes(result: Tuned) -> doc.Table:
    return doc.table(["held-out texts", "before", "after"], _geometry_rows(result))


def _geometry_rows(result: Tuned) -> list[list[str]]:
    """Every measure of the probes, before and after."""
    return [
        [title, *(number_text(getattr(probe, name), plain) for probe in (result.first, result.last))]
        for name, title in _GEOMETRY.items()
        if getattr(result.first, name) is not None
    ]


def _facts(result: Tuned) -> list[tuple[str, str]]:
    settings = {name.replace("_", " "): value for name, value in result.settings.items() if value not in (None, "")}
    training = [
        ("base model", last_name(result.model)),
        ("data", result.source),
        ("objective", result.objective),
        ("examples", f"{result.examples:,}"),
        ("best step", f"{result.last.step:,}"),
        ("training time", _seconds(result.training.seconds)),
    ]
    return [*training, *((name, str(value)) for name, value in settings.items())]
