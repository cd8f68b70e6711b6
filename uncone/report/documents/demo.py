"""The document of `demo`: unreadable scores, what they mean, the repair, the proof, and how to go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from uncone.report.document import Block, Command, Document, Section, Sentences, Verdict
from uncone.report.documents.check import cosine_chart, verdict
from uncone.report.documents.prescribe import candidate_blocks
from uncone.report.results.demo import Demo

__all__ = ["document"]

_COMMANDS = (
    "uncone check vectors.npy --score 0.75",
    "uncone similarity texts.csv --text text",
    "uncone fix texts.txt --model MODEL --method auto --pairs pairs.csv",
)


def document(result: Demo) -> Document:
    """Five steps, each a section with its sentences and its picture."""
    before, repaired = result.before, result.repaired
    crowded = verdict(before, advised=False)
    steps: list[tuple[str, str, Sequence[str], list[Block]]] = [
        ("problem", "Unrelated texts look similar", crowded.details, [replace(cosine_chart([before]), name="crowded")]),
        ("score", "What a score of 0.75 means", [result.calibrated.headline], []),
        ("repair", "The repair", [repaired.headline], [cosine_chart(repaired.spaces)]),
        ("proof", "The proof", [result.chosen.reason], candidate_blocks(result.chosen.to_dict())),
        (
            "last",
            "When to leave it alone",
            [f"The last layer was trained for cosine similarity, so the advice differs there. {result.last.reason}"],
            candidate_blocks(result.last.to_dict()),
        ),
    ]
    sections = [
        Section(f"{number}. {title}", [Sentences(lines), *blocks], brief=[Sentences(lines, label)])
        for number, (label, title, lines, blocks) in enumerate(steps, start=1)
    ]
    commands = [Command(text) for text in _COMMANDS]
    return Document(
        title="uncone demo",
        name="all-MiniLM-L6-v2, layer 5",
        subtitle=f"{before.source['rows']:,} sentences · {result.chosen.pairs:,} labeled pairs",
        verdicts=[Verdict(crowded.headline, crowded.level)],
        sections=[*sections, Section("Now with your own data", commands, brief=commands)],
    )
