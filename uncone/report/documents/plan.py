"""The result of `plan` and its document: what a run would take, each figure with where it comes from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from uncone.analysis.number_format import count, plain
from uncone.data.lazy_property import once
from uncone.report import document as doc
from uncone.report.charts.model import Axis, Chart, Line, Reference
from uncone.report.result import Result
from uncone.report.text import capitalized, last_name, provenance_facts
from uncone.run.estimate import Estimate
from uncone.run.fold import CHUNK, GROUP
from uncone.run.rehearsal import Pass

__all__ = ["Figure", "How", "Planned"]

How = Literal["given", "measured", "computed"]

_SHORT = 600.0
"""Seconds that nobody needs a cluster for."""
_SOON = 60.0
"""Seconds that nobody needs to shorten."""
_NAMES = {"threads": "threads of this machine", "ray": "Ray", "spark": "Spark", "dask": "Dask"}
_INTRO = (
    "Given: you said so. Measured: here and now, on a sample of the vectors. Computed: from these, and from the sizes "
    "of the statistics."
)
_CAVEATS = (
    "Workers count as fast as a core of this machine. Starting an engine takes some seconds more, once.",
    "Memory is without what the engine itself takes.",
)


@dataclass(frozen=True)
class Figure:
    """A number with its unit, and whether it was given, measured or computed; `meaning` says from what."""

    name: str
    title: str
    value: float
    unit: str
    how: How
    meaning: str

    @property
    def text(self) -> str:
        """The number as a report shows it."""
        return _UNITS[self.unit](self.value)


@dataclass(frozen=True)
class Planned(Result):
    """What a run would take: `verb` is the run, `engine` where, `cores` those of this machine.

    `alone` says why no cluster can share the work, if none can; `given` names the figures that the user gave.
    """

    estimate: Estimate
    source: Mapping[str, Any]
    verb: str
    engine: str
    cores: int
    alone: str
    provenance: Mapping[str, Any]
    given: Sequence[str] = ()

    def __getitem__(self, name: str) -> Figure:
        """A figure by name."""
        return self.figures[name]

    @once
    def figures(self) -> Mapping[str, Figure]:
        """Every figure by its name."""
        return {figure.name: figure for figure in (*_sizes(self), *_rates(self), *_costs(self), *_times(self))}

    @once
    def one_machine(self) -> Estimate:
        """The same run in threads of this machine."""
        return self.estimate.on(self.cores, cluster=False)

    @property
    def headline(self) -> str:
        """The expected time in a sentence."""
        return capitalized(f"{duration(self.estimate.seconds)} on {self.where}.")

    @property
    def where(self) -> str:
        """The workers in words."""
        workers = self.estimate.workers
        if not self.estimate.cluster:
            return f"{count(workers, 'thread')} of this machine"
        return f"{count(workers, 'worker')} of {_NAMES[self.engine]}"

    def lines(self) -> list[str]:
        """Advice: whether one machine is enough, what the limit is, and what a worker needs."""
        return [*_place(self), *_bottleneck(self), *_worker(self)]

    def _values(self) -> dict[str, Any]:
        figures = {
            name: {"value": figure.value, "unit": figure.unit, "how": figure.how, "meaning": figure.meaning}
            for name, figure in self.figures.items()
        }
        return {
            "source": self.source,
            "verb": self.verb,
            "engine": self.engine,
            "headline": self.headline,
            "lines": self.lines(),
            "limit": self.estimate.limit,
            "figures": figures,
            "passes": [_pass_values(self.estimate, each) for each in self.estimate.passes],
            "provenance": self.provenance,
        }

    def document(self) -> doc.Document:
        """The time, the figures, the passes and the time by number of workers."""
        source, figures = self.source, _figure_table(self)
        passes = doc.Section(
            "Passes", [_pass_table(self)], "What each pass over the vectors takes.", [_pass_table(self)]
        )
        facts = [("source", f"{source['name']} ({source['kind']}, {source['dtype']})")]
        return doc.Document(
            title=self.headline,
            name=last_name(source["name"]),
            subtitle=f"{source['rows']:,} x {source['dimensions']:,} · {source['dtype']} · plan of {self.verb}",
            verdicts=[doc.Verdict(self.headline, details=self.lines())],
            sections=[
                doc.Section("Figures", [figures], _INTRO, [figures]),
                passes,
                doc.Section("", [_workers_chart(self)]),
                doc.Section("Notes", [doc.Notes(_CAVEATS)]),
                doc.Section("Provenance", [doc.Facts([*facts, *provenance_facts(self.provenance)])]),
            ],
        )

    def __repr__(self) -> str:
        """The expected time in a line."""
        return f"<Planned {self.headline}>"


def duration(seconds: float) -> str:
    """A time in words.

    >>> [duration(seconds) for seconds in (0.3, 42, 230, 5400, 400_000)]
    ['less than a second', 'about 42 seconds', 'about 4 minutes', 'about 90 minutes', 'about 4.6 days']
    """
    if seconds < 1:
        return "less than a second"
    for unit, size, most in (("second", 1, 90), ("minute", 60, 7200), ("hour", 3600, 172_800)):
        if seconds < most:
            number = f"{seconds / size:.0f}" if unit != "hour" else f"{seconds / size:.1f}".removesuffix(".0")
            return f"about {number} {unit}{'' if number == '1' else 's'}"
    return f"about {seconds / 86_400:.1f} days".replace(".0 ", " ")


def _scaled(value: float, unit: str) -> str:
    """A number of bytes or the like with its prefix.

    >>> _scaled(3.072e12, "B"), _scaled(900, "B")
    ('3.07 TB', '900 B')
    """
    steps = min(int(math.log10(max(value, 1)) // 3), 5)
    number = value / 1000.0**steps
    digits = 0 if steps == 0 or number >= 100 else 1 if number >= 10 else 2
    return f"{number:.{digits}f} {' kMGTP'[steps].strip()}{unit}"


def _power(value: float) -> str:
    return f"{value:.2g}".replace("e+", "e").replace("e0", "e")


def _seconds(value: float) -> str:
    if value < 600:
        return f"{plain(value)} s"
    return f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.1f} h"


_UNITS: dict[str, Callable[[float], str]] = {
    "": lambda value: f"{value:,.0f}",
    "bytes": lambda value: _scaled(value, "B"),
    "bytes/s": lambda value: _scaled(value, "B/s"),
    "vectors/s": lambda value: f"{value:,.0f} /s",
    "operations": _power,
    "seconds": _seconds,
}


def _sizes(planned: Planned) -> list[Figure]:
    estimate, source = planned.estimate, planned.source
    sample, passes = f"a sample of {source['sampled']:,} vectors", len(estimate.passes)
    rows_how: How = "given" if "rows" in planned.given else "measured"
    dim_how: How = "given" if source["kind"] == "synthetic" else "measured"
    first = estimate.passes[0]
    listed = ", ".join(each.step for each in estimate.passes)
    return [
        Figure("rows", "vectors", source["rows"], "", rows_how, "--rows" if rows_how == "given" else "the source"),
        Figure("dimensions", "dimensions", source["dimensions"], "", dim_how, "the vectors"),
        Figure("passes", "passes over the vectors", passes, "", "measured", f"{listed}; rehearsed on {sample}"),
        Figure("chunks", "chunks of a pass", first.chunks, "", "computed", f"up to {CHUNK:,} vectors each"),
        Figure("groups", "groups of a pass", first.groups, "", "computed", f"up to {GROUP // CHUNK} chunks each"),
    ]


def _rates(planned: Planned) -> list[Figure]:
    estimate, reading = planned.estimate, planned.estimate.reading
    first = estimate.passes[0]
    rate = 1 / (first.seconds_per_row + reading.seconds_per_row)
    of = "reading and measuring" if reading.bytes_per_second else "measuring"
    figures = [Figure("rate", "vectors a core does", rate, "vectors/s", "measured", f"{of}, in the first pass")]
    if reading.bytes_per_second is not None:
        speed = reading.bytes_per_second
        figures.append(Figure("reading_rate", "bytes a worker reads", speed, "bytes/s", "measured", "the source, here"))
    if estimate.bandwidth is not None:
        meaning = "--bandwidth, of all workers together"
        figures.append(Figure("bandwidth", "bandwidth", estimate.bandwidth, "bytes/s", "given", meaning))
    return figures


def _costs(planned: Planned) -> list[Figure]:
    estimate = planned.estimate
    figures = [
        Figure("bytes_read", "bytes to read", estimate.bytes_read, "bytes", "computed", "stored size x passes"),
        Figure("bytes_written", "bytes to write", estimate.bytes_written, "bytes", "computed", "repaired vectors"),
        Figure("flops", "operations (flops)", estimate.flops, "operations", "computed", "matrix products alone"),
        Figure("cpu_seconds", "CPU time of all workers", estimate.cpu_seconds, "seconds", "computed", "rate x vectors"),
        Figure(
            "memory", "memory per worker", estimate.memory, "bytes", "computed",
            f"Python takes {_scaled(estimate.process_bytes, 'B')} of it (measured)",
        ),
        Figure(
            "between_workers", "network between workers", estimate.between_workers, "bytes", "computed",
            "states of chunks, by their sizes",
        ),
        Figure("to_driver", "network to this machine", estimate.to_driver, "bytes", "computed", "states of groups"),
    ]  # fmt: skip
    left_out = [name for name in ("bytes_written",) if not estimate.bytes_written]
    left_out += [] if estimate.cluster else ["between_workers", "to_driver"]
    return [figure for figure in figures if figure.name not in left_out]


def _times(planned: Planned) -> list[Figure]:
    estimate, transfer = planned.estimate, planned.estimate.transfer_seconds
    workers_how: How = "given" if "workers" in planned.given else "measured"
    figures = [
        Figure("workers", "workers", estimate.workers, "", workers_how, "one core each"),
        Figure(
            "processor_seconds", "time to compute", estimate.processor_seconds, "seconds", "computed",
            "of the worker that has most to do",
        ),
        Figure("own_seconds", "work not shared", estimate.own_seconds, "seconds", "measured", "on this machine"),
        Figure("seconds", "expected time", estimate.seconds, "seconds", "computed", "with reading, where it is slower"),
    ]  # fmt: skip
    if transfer is not None:
        figures.insert(
            2, Figure("transfer_seconds", "time to transfer", transfer, "seconds", "computed", _how_fast(planned))
        )
    if estimate.cluster:
        alone = planned.one_machine.seconds
        meaning = f"{count(planned.cores, 'thread')}, without a cluster"
        figures.append(Figure("one_machine_seconds", "time on this machine", alone, "seconds", "computed", meaning))
    return figures


def _how_fast(planned: Planned) -> str:
    return "at the bandwidth" if planned.estimate.bandwidth else "each worker at the speed measured here"


def _place(planned: Planned) -> list[str]:
    """Whether the run needs a cluster, or can use one."""
    estimate, alone = planned.estimate, planned.one_machine.seconds
    if planned.alone and planned.engine != "threads":
        advice = (
            "Save them to a file" if planned.alone.startswith("Vectors in memory") else "Convert it to Parquet or .npy"
        )
        return [f"{planned.alone}, so {_NAMES[planned.engine]} can't share the work. {advice} first."]
    cores = count(planned.cores, "core")
    if alone <= _SHORT:
        return [f"One machine is enough: {duration(alone)} on the {cores} of this one."]
    if estimate.cluster:
        return [f"On the {cores} of this machine alone, it would take {duration(alone)}."]
    if estimate.limit != "processor" or planned.alone:
        return []
    workers = math.ceil(estimate.cpu_seconds / _SHORT)
    return [f"On a cluster, {workers:,} workers would need about 10 minutes: --engine ray --workers {workers}."]


def _bottleneck(planned: Planned) -> list[str]:
    """What more workers would change, if that matters."""
    estimate = planned.estimate
    if estimate.seconds < _SOON:
        return []
    if estimate.most_units < estimate.workers:
        parts = count(estimate.most_units, "part")
        return [
            f"There {'is' if estimate.most_units == 1 else 'are'} only {parts} to share, so more workers don't help."
        ]
    if estimate.limit == "own work":
        return ["Work that isn't shared takes most of the time: more workers gain little."]
    most = estimate.most_workers
    if estimate.limit == "transfer":
        gain = "" if most is None else f": more than {count(most, 'worker')} gain nothing at this bandwidth"
        return [f"{'Network or disk' if most is None else 'The network'} is the limit{gain}."]
    until = "" if most is None else f", up to {most:,} workers at this bandwidth"
    return [f"The processor is the limit: twice the workers take about half the time{until}."]


def _worker(planned: Planned) -> list[str]:
    if not planned.estimate.cluster:
        return []
    return [f"Give each worker 1 core and {_scaled(planned.estimate.memory, 'B')} of memory."]


def _figure_table(planned: Planned) -> doc.Table:
    rows = [[figure.title, figure.text, figure.how, figure.meaning] for figure in planned.figures.values()]
    last = doc.Column("from", align="left", wrap=True)
    return doc.table(["figure", "value", doc.Column("how", align="left"), last], rows)


def _pass_table(planned: Planned) -> doc.Table:
    estimate = planned.estimate
    heads = [
        doc.Column("pass", align="left", wrap=True),
        doc.Column("µs per vector", "measured"),
        doc.Column("flops", "computed"),
        doc.Column("CPU", "computed"),
        doc.Column("received", "computed") if estimate.cluster else doc.Column("written", "computed"),
        doc.Column("time", "computed"),
    ]
    rows = [_pass_cells(estimate, each) for each in estimate.passes]
    return doc.table(heads, rows)


def _pass_cells(estimate: Estimate, each: Pass) -> Sequence[str]:
    size = each.received if estimate.cluster else each.written
    return (
        each.step,
        plain(1e6 * (each.seconds_per_row + estimate.reading.seconds_per_row)),
        _power(each.rows * each.flops_per_row),
        _seconds(estimate.cpu_seconds_of(each)),
        _scaled(size, "B") if size else "–",
        _seconds(estimate.seconds_of(each)),
    )


def _pass_values(estimate: Estimate, each: Pass) -> dict[str, Any]:
    return {
        "step": each.step,
        "measured": {
            "cpu_seconds_per_vector": each.seconds_per_row + estimate.reading.seconds_per_row,
            "cpu_seconds_per_merge": each.seconds_per_merge,
        },
        "computed": {
            "flops": each.rows * each.flops_per_row,
            "bytes_read": round(each.rows * estimate.reading.row_bytes),
            "bytes_written": each.written,
            "between_workers": each.sent if estimate.cluster else 0,
            "to_driver": each.received if estimate.cluster else 0,
            "cpu_seconds": estimate.cpu_seconds_of(each),
            "seconds": estimate.seconds_of(each),
        },
    }


def _workers_chart(planned: Planned) -> Chart:
    """The expected time by number of workers."""
    estimate = planned.estimate
    numbers = sorted({max(round(estimate.workers * 2 ** (step / 2)), 1) for step in range(-8, 9)})
    minutes = [replace(estimate, workers=n).seconds / 60 for n in numbers]
    line = Line([float(n) for n in numbers], list(minutes), "expected time", points=True)
    x, y = Axis("workers", "workers", log=True), Axis("minutes", "minutes", log=True)
    marked = [Reference(float(estimate.workers), f"{estimate.workers:,}")]
    return Chart("workers", "Time by number of workers", _caption(estimate), [line], x, y, marked, wide=True)


def _caption(estimate: Estimate) -> str:
    flat = "Where the curve is flat, workers wait for bytes or for work that isn't shared."
    return capitalized(f"computed, from the figures above. {flat}")
