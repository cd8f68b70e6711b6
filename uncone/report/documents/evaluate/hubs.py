"""The hubs of a search: which documents answer many queries, whether they should, and what each method makes of it."""

from __future__ import annotations

from uncone.analysis.number_format import clipped, count, percent
from uncone.evaluation.table import HubDocument, Hubs
from uncone.report.document import Block, Cell, Column, Section, Sentences, Table, table
from uncone.report.documents.evaluate.scores import labels
from uncone.report.text import printable

__all__ = ["hub_lines", "hub_section"]

_TEXT = 160
"""Letters of a document on the page."""
_BRIEF = 40
"""Letters of a document on a terminal."""
_UNJUDGED = "A document that nobody judged for a query counts as not relevant."


def hub_lines(hubs: Hubs) -> list[str]:
    """The largest hub, and how many documents crowd the lists without being relevant."""
    if not hubs.documents:
        return []
    top = hubs.documents[0]
    name = f"{top.id} ({clipped(printable(top.text), 60)})" if top.text else f"Document {top.id}"
    queries = f"the top {hubs.depth} of {top.queries:,} of {hubs.queries:,} queries"
    lines = [
        f"{name} stands in {queries} ({percent(top.queries / hubs.queries)}) and is relevant to {_amount(top.hits)}."
    ]
    never = [hub for hub in hubs.documents if not hub.hits]
    if never and len(hubs.documents) > 1:
        verb = "is" if len(never) == 1 else "are"
        documents = count(len(hubs.documents), "document")
        lines.append(
            f"{len(never):,} of the {documents} that answer {hubs.least:,} or more queries {verb} relevant to none of "
            "them."
        )
    return lines


def _amount(n: int) -> str:
    return "none of them" if n == 0 else f"{n:,} of them"


def hub_section(hubs: Hubs) -> Section:
    """The documents that answer many queries, and the hubs of every method."""
    if not hubs.documents:
        nothing = f"With raw vectors, no document stands in the top {hubs.depth} of {hubs.least:,} or more queries."
        return Section(_title(hubs), [Sentences([nothing]), _method_table(hubs)])
    return Section(
        _title(hubs), [_document_table(hubs), _method_table(hubs)], brief=[_document_table(hubs, brief=True)]
    )


def _title(hubs: Hubs) -> str:
    return f"Documents that answer {hubs.least:,} or more of {hubs.queries:,} queries"


def _document_table(hubs: Hubs, *, brief: bool = False) -> Table:
    has_texts = any(hub.text for hub in hubs.documents)
    columns = [Column("document", align="left"), *([Column("text", align="left", wrap=True)] if has_texts else [])]
    columns += [Column("queries", f"in their top {hubs.depth}"), Column("relevant to", "of these queries")]
    columns += [] if brief else [Column("relevant to", "of all queries")]

    def cells(hub: HubDocument) -> list[str | Cell]:
        most = _BRIEF if brief else _TEXT
        text = [clipped(printable(hub.text), most)] if has_texts else []
        share = percent(hub.queries / hubs.queries)
        amount = Cell(f"{hub.queries:,} ({share})") if brief else Cell(f"{hub.queries:,}", share)
        return [printable(hub.id), *text, amount, f"{hub.hits:,}", *([] if brief else [f"{hub.relevant:,}"])]

    even = hubs.depth * hubs.queries / hubs.docs
    remarks = [
        f"Raw vectors. If all {hubs.docs:,} documents shared the lists evenly, each would stand in {even:.2g} of them. "
        f"{_UNJUDGED}"
    ]
    title = f"Documents in the top {hubs.depth} of {hubs.least:,} or more of {hubs.queries:,} queries" if brief else ""
    rows = [cells(hub) for hub in hubs.documents]
    return table(columns, rows, title=title, remarks=[] if brief else remarks, name="hubs")


def _method_table(hubs: Hubs) -> Block:
    columns = [
        Column("method", align="left", wrap=True),
        Column("such documents", f"of {hubs.docs:,}"),
        Column("their share", f"of all top-{hubs.depth} places"),
        Column("largest", "queries"),
    ]
    rows = [
        [label, f"{own.hubs:,}", percent(own.share), f"{own.largest:,}"]
        for label, own in zip(labels([own.method for own in hubs.methods]), hubs.methods, strict=True)
    ]
    return table(columns, rows, title="By method", name="hubs-by-method")
