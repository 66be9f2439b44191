"""HTML of answers, topics, reports and libraries, as notebooks show them.

All text of documents and users is escaped; nothing is loaded, and no script runs.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from lpisearch.messages import counted, printable
from lpisearch.model.report_text import full_title, is_numeric, own_columns, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from lpisearch.model.answers import (
        Answer,
        Dimension,
        DimensionReport,
        DimensionWord,
        Hit,
        LabelShare,
        Passage,
        TopicReport,
    )
    from lpisearch.model.documents import IngestReport
    from lpisearch.model.reports import IndexReport, Report, Table

_FIGURES = (
    *("added", "updated", "unchanged", "moved", "removed", "missing", "empty", "failed"),
    *("name", "method", "dims", "alpha", "documents", "passages", "terms"),
)
_MOST = 10
_MOST_SHARES = 3
_LEFT, _RIGHT = ' style="text-align:left"', ' style="text-align:right"'


def answer_html(answer: Answer) -> str:
    """Return the results as a table: rank, document with its passages, labels and score."""
    heads = ("", "document", "labels", "score")
    rows = (
        (str(hit.rank), _document(hit), _text(", ".join(hit.labels)), f"{hit.score:.2f}")
        for hit in answer
    )
    number = f"{counted(len(answer), 'result')}, {answer.by}"
    return _table(number, heads, rows, right={0, 3}) + _notes(answer.notes)


def topics_html(report: TopicReport) -> str:
    """Return topics as a table: size, words, typical documents and labels."""
    rows = (
        (
            str(topic.number),
            f"{topic.size:,}",
            _text(", ".join(topic.terms)),
            "<br>".join(_text(one.title or one.id) for one in topic.documents),
            _text(", ".join(map(_share, topic.labels[:_MOST_SHARES]))),
        )
        for topic in report.topics
    )
    title = f"{counted(len(report.topics), 'topic')} in {report.documents:,} documents"
    heads = ("", "documents", "words", "typical documents", "labels")
    return _table(title, heads, rows, right={0, 1})


def dimensions_html(report: DimensionReport) -> str:
    """Return the dimensions of a sparse method as a table of their two ends."""
    rows = (row for dimension in report.dimensions for row in _dimension_rows(dimension))
    title = f"{report.method}: {report.terms:,} terms of {report.documents:,} documents"
    heads = ("", "eigenvalue", "words", "loadings", "typical documents")
    return _table(title, heads, rows, right={0, 1, 2})


def report_html(report: Report) -> str:
    """Return the tables of an evaluation."""
    return f"<h4>{_text(report.title)}</h4>" + "".join(map(_figures, report.tables))


def record_html(record: IngestReport | IndexReport) -> str:
    """Return the main figures of an ingest or a build, with its notes."""
    named = {name: getattr(record, name, None) for name in _FIGURES}
    seconds = record.seconds if isinstance(record.seconds, float) else sum(record.seconds.values())
    facts: dict[str, object] = {name: value for name, value in named.items() if value}
    failures = getattr(record, "failures", ())
    facts |= {one.path: one.reason for one in failures[:_MOST]} | {"seconds": f"{seconds:.1f}"}
    return _pairs(type(record).__name__, facts) + _notes(record.notes)


def library_html(name: str, status: Mapping[str, Any]) -> str:
    """Return what a library contains, and the state of its indexes."""
    labels = sorted(status["labels"].items(), key=lambda one: (-one[1], one[0]))
    indexes = (f"{one['name']}: {one['method']}, {one['state']}" for one in status["indexes"])
    facts = {
        "documents": status["documents"],
        "labels": ", ".join(f"{label} {count:,}" for label, count in labels[:_MOST]),
        "language": status["language"] or "",
        "indexes": "; ".join(indexes) or "none",
    }
    return _pairs(name, {key: value for key, value in facts.items() if value != ""})


def _document(hit: Hit) -> str:
    where = "" if hit.id == hit.title else f"<br><small>{_text(hit.id)}</small>"
    passages = "".join(f"<br>{_passage(one)}" for one in hit.passages)
    return f"<b>{_text(hit.title or hit.id)}</b>{where}{passages}"


def _passage(passage: Passage) -> str:
    """Return the text with its marks, and the page that it is on."""
    parts, end = [], 0
    for start, stop in sorted(passage.marks):
        if start >= end:
            word = f"<mark>{_text(passage.text[start:stop])}</mark>"
            parts += [_text(passage.text[end:start]), word]
            end = stop
    page = f"<small>page {_text(passage.page)}:</small> " if passage.page else ""
    return f"{page}{''.join(parts)}{_text(passage.text[end:])}"


def _share(label: LabelShare) -> str:
    return f"{label.label} {label.share:.0%}"


def _dimension_rows(dimension: Dimension) -> Iterator[tuple[str, ...]]:
    """Yield a row for each end of a dimension that has words."""
    above = ("+", dimension.above, dimension.documents_above)
    below = ("−", dimension.below, dimension.documents_below)
    for sign, words, documents in (above, below):
        if words:
            yield (
                f"{dimension.number}{sign}",
                f"{dimension.eigenvalue:.4g}",
                f"{dimension.words:,}",
                _text(", ".join(map(_loading, words))),
                "<br>".join(_text(one.title or one.id) for one in documents),
            )


def _loading(word: DimensionWord) -> str:
    return f"{word.word} {word.weight:+.2f}"


def _figures(table: Table) -> str:
    columns = own_columns(table)
    rows = ([escape(shown(name, row.get(name))) for name in columns] for row in table.rows)
    right = {at for at, name in enumerate(columns) if is_numeric(table, name)}
    return _table(full_title(table) or table.name, columns, rows, right) + _notes(table.notes)


def _pairs(title: str, facts: Mapping[str, object]) -> str:
    rows = ((_text(name.replace("_", " ")), _text(_fact(value))) for name, value in facts.items())
    return _table(title, (), rows)


def _fact(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else shown("", value)


def _table(
    title: str,
    heads: Sequence[str],
    rows: Iterable[Iterable[str]],
    right: AbstractSet[int] = frozenset(),
) -> str:
    """Return a table of cells that are HTML; the columns in `right` are numbers."""
    aligned = [_RIGHT if at in right else _LEFT for at in range(max(len(heads), 2))]
    head = "".join(f"<th{aligned[at]}>{_text(name)}</th>" for at, name in enumerate(heads))
    lines = (
        "".join(f"<td{aligned[at]}>{cell}</td>" for at, cell in enumerate(row)) for row in rows
    )
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    thead = f"<thead><tr>{head}</tr></thead>" if heads else ""
    return f"<table><caption{_LEFT}>{_text(title)}</caption>{thead}<tbody>{body}</tbody></table>"


def _notes(notes: Sequence[str]) -> str:
    return "".join(f"<p><small>{_text(note)}</small></p>" for note in notes)


def _text(text: str) -> str:
    return escape(printable(text))
