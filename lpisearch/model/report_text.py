"""Reports as text (cells, CSV, Markdown, JSON, figures as bars), and as HTML in notebooks.

Notebooks also show answers, topics and libraries. All text of documents and users is escaped;
nothing is loaded, and no script runs.
"""

from __future__ import annotations

import math
import re
import unicodedata
from html import escape
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeGuard

from lpisearch.messages import counted, printable
from lpisearch.model.codec import json_text, to_json
from lpisearch.model.reports import Cell, Figure, IndexReport, Report, Series, Table, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from lpisearch.model.answers import (
        Answer,
        Dimension,
        DimensionReport,
        Hit,
        Passage,
        TopicReport,
    )
    from lpisearch.model.documents import IngestReport


SPREAD = "_sd"
"""The suffix of a column with the spread of another one."""
_MEASURES = frozenset(
    {"ac", "accuracy", "ap", "auc", "bpref", "f1", "map", "mrr", "ndcg", "nmi", "precision"}
    | {"purity", "recall", "rprec", "rr"}
)
# Of a column that is still a share, but of which more is not better.
_QUALIFIERS = frozenset(
    {"ci", "delta", "diff", "difference", "error", "gain", "high", "loss", "low", "paper"}
    | {"sd", "se", "spread", "std"}
)
_AT_A_DEPTH = re.compile(r"[PRS]@\d+")  # P alone is a p-value, P@10 a precision
_WORD = re.compile(r"[a-z]+\d?")
_PROBABILITIES = frozenset({"p", "p_holm"})
_LEAST_FIXED = 1e-4  # below it a time is written with an exponent
_LEAST_WHOLE = 1000


def shown(name: str, value: object) -> str:
    """Return a cell of a column for people; its name tells shares, times and other numbers.

    >>> shown("accuracy", 0.86712), shown("fit_s", 12.3456), shown("documents", 18846)
    ('0.8671', '12.3', '18846')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return _shown_number(name, float(value))
    return printable(str(value))


def is_time(name: str) -> bool:
    """Tell whether a column contains seconds."""
    return name.lower() in {"s", "seconds", "time"} or name.endswith(("_s", "_seconds", " s"))


def is_share(name: str) -> bool:
    """Tell whether a column contains a measure between 0 and 1, or its spread."""
    words = _WORD.findall(name.lower())
    return bool(_AT_A_DEPTH.search(name)) or not _MEASURES.isdisjoint(words)


def higher_is_better(name: str) -> bool:
    """Tell whether the largest value of a column is the best one."""
    words = _WORD.findall(name.lower())
    return is_share(name) and not is_time(name) and _QUALIFIERS.isdisjoint(words)


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether a cell is a number; yes and no are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_numeric(table: Table, column: str) -> bool:
    """Tell whether all filled cells of a column are numbers."""
    cells = [row[column] for row in table.rows if row.get(column) is not None]
    return bool(cells) and all(map(is_number, cells))


def _shown_number(name: str, number: float) -> str:
    if not math.isfinite(number):
        return "–" if math.isnan(number) else str(number)
    if is_time(name):
        return _significant(number, 3)
    if name in _PROBABILITIES:
        return f"{number:.4f}" if number >= _LEAST_FIXED or number == 0 else f"<{_LEAST_FIXED:.4f}"
    if is_share(name) and abs(number) <= 1:
        return f"{number:.4f}"
    return f"{number:.4g}" if abs(number) < _LEAST_WHOLE else f"{number:.0f}"


def _significant(number: float, digits: int) -> str:
    if number == 0:
        return "0"
    if abs(number) < _LEAST_FIXED:
        return f"{number:.{digits - 1}e}"
    rounded = float(f"{number:.{digits - 1}e}")
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:.{decimals}f}" if decimals > 0 else f"{number:.0f}"


# Columns that describe the whole run: where all rows agree, most are shown after the title instead;
# the others are in it.
_CIRCUMSTANCES = (
    *("train", "classes", "documents", "pairs"),
    *("subsets", "queries", "repeats", "draws"),
)
_IN_THE_TITLE = frozenset({"train", "queries", "repeats"})


def full_title(table: Table) -> str:
    """Return the title with the circumstances that all rows share."""
    common = _in_common(table)
    names = [name for name in common if name not in _IN_THE_TITLE]
    texts = ", ".join(f"{name} {shown(name, common[name])}" for name in names)
    return table.title + (f" ({texts})" if texts else "")


def own_columns(table: Table) -> list[str]:
    """Return the columns that differ between rows, without those of spreads."""
    common = _in_common(table)
    return [
        name
        for name in table.columns
        if not (name.endswith(SPREAD) and name.removesuffix(SPREAD) in table.columns)
        and name not in common
        and any(row.get(name) is not None for row in table.rows)
    ]


def _in_common(table: Table) -> dict[str, Cell]:
    common = {}
    for name in _CIRCUMSTANCES:
        values = {row.get(name) for row in table.rows}
        if len(values) == 1 and name in table.columns and None not in values:
            common[name] = values.pop()
    return common


def width_of(text: str) -> int:
    """Return the width of a text in columns of a terminal."""
    return len(text) if text.isascii() else sum(map(_width, text))


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Pad a text with blanks, on the left with `right`."""
    blanks = " " * (width - width_of(text))
    return blanks + text if right else text + blanks


def shortened(text: str, width: int, ellipsis: str = "…") -> str:
    """Cut a text that is too wide, and end it with an ellipsis."""
    if width_of(text) <= width:
        return text
    room = width - width_of(ellipsis)
    while text and width_of(text) > room:
        text = text[:-1]
    return text.rstrip() + ellipsis


def _width(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


_NEEDS_QUOTES = re.compile(r'[",\r\n]|^\s|\s$')
# The wide ones are formulas too, to a spreadsheet in Chinese, Japanese or Korean.
_STARTS_A_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


def as_csv(tables: Sequence[Table]) -> str:
    """Return tables as one CSV text with one header line.

    The rows of several tables follow each other; a first column `table` names the table of a row.
    Numbers are in full precision. A text that a spreadsheet would run as a formula gets an
    apostrophe in front; invisible characters are written as `printable` writes them.

    >>> from lpisearch.model.reports import Table
    >>> print(as_csv([Table("classify", "", ({"label": "=1+1", "AP": 0.25, "sd": None},))]))
    label,AP,sd
    '=1+1,0.25,
    <BLANKLINE>
    """
    columns = tuple(dict.fromkeys(name for table in tables for name in table.columns))
    if not columns:
        return ""
    rows = [[row.get(name) for name in columns] for table in tables for row in table.rows]
    header: list[Cell] = list(columns)
    if len(tables) > 1:
        names = [table.name for table in tables for _ in table.rows]
        header = ["table", *header]
        rows = [[name, *row] for name, row in zip(names, rows, strict=True)]
    return "".join(csv_line(cells) for cells in (header, *rows))


def csv_line(cells: Iterable[Cell]) -> str:
    """Return one line of CSV with its end; cells are written as in `as_csv`."""
    # csv.writer leaves a lone \r without quotes when lines end with \n, and cannot read it back.
    # A line of one empty cell would be read as no line at all.
    return (",".join(map(_field, cells)) or '""') + "\n"


def _field(cell: Cell) -> str:
    value = plain(cell)
    if value is None:
        return ""
    if not isinstance(value, str):
        return str(value)
    text = printable(value, lines=True)
    if _is_formula(text):
        text = f"'{text}"
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text


def _is_formula(text: str) -> bool:
    if text.startswith("\t"):  # a spreadsheet may skip it
        return True
    begun = text.lstrip()
    return begun.startswith(_STARTS_A_FORMULA) and not _NUMBER.fullmatch(begun)


# An underscore within a word, as in macro_f1, is only an underscore.
_MARKS = re.compile(r"[\\`*\[\]<>|&~$]|(?<!\w)_|_(?!\w)")
_LEAST_WIDTH = 3


def as_markdown(tables: Sequence[Table]) -> str:
    r"""Return tables as Markdown, each with its title and notes; numbers are rounded as in `shown`.

    >>> from lpisearch.model.reports import Table
    >>> rows = {"label": "sea|sky", "accuracy": 0.86712}, {"label": "music", "accuracy": 0.9}
    >>> print(as_markdown([Table("classify", "By label", rows, ("2 left out",))]))
    ## By label
    <BLANKLINE>
    | label    | accuracy |
    | :------- | -------: |
    | sea\|sky |   0.8671 |
    | music    |   0.9000 |
    <BLANKLINE>
    - 2 left out
    <BLANKLINE>
    """
    return "\n\n".join(filter(None, map(_section, tables))) + "\n" if tables else ""


def _section(table: Table) -> str:
    notes = "\n".join(f"- {_escaped(printable(note))}" for note in table.notes)
    parts = [f"## {_escaped(printable(table.title or table.name))}", _grid(table), notes]
    return "\n\n".join(filter(None, parts))


def _grid(table: Table) -> str:
    columns = [_column(table, name) for name in table.columns]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in zip(*columns, strict=True))


def _column(table: Table, name: str) -> list[str]:
    """Return the cells of a column from its head down, all of one width."""
    cells = [_escaped(shown(name, row.get(name))) for row in table.rows]
    head = _escaped(printable(name))
    right = is_numeric(table, name)
    width = max(_LEAST_WIDTH, *map(width_of, (head, *cells)))
    rule = "-" * (width - 1)
    rule = f"{rule}:" if right else f":{rule}"
    return [
        rule if at == 1 else padded(cell, width, right=right)
        for at, cell in enumerate((head, "", *cells))
    ]


def _escaped(text: str) -> str:
    return _MARKS.sub(r"\\\g<0>", text)


def as_json(report: Report) -> str:
    """Return a report as JSON, in full precision."""
    return json_text(to_json(report), indent=2) + "\n"


_EIGHTHS = " ▏▎▍▌▋▊▉"
_LEAST_BAR = 4
# Below this share of the largest value, differences would not show in bars that start at zero.
_VISIBLE_SPAN = 0.25
_ROOM_BELOW = 0.1


def as_bars(figure: Figure, width: int = 80, *, ascii_only: bool = False) -> str:
    """Return a figure as lines of text, with a block of bars for each series.

    All bars have one scale, which is stated below the title. No line is wider than `width`, unless
    its numbers are. With `ascii_only`, bars consist of `#`.

    >>> from lpisearch.model.reports import Figure, Series
    >>> lines = Series("rlpi", (10, 20), (0.4, 0.8)), Series("terms", (10,), (0.6,))
    >>> print(as_bars(Figure("sweep", "By size", "dims", "AP", lines), 30, ascii_only=True))
    By size
    AP by dims, bars 0 to 0.8000
    <BLANKLINE>
    rlpi
      10  0.4000  ########
      20  0.8000  ################
    <BLANKLINE>
    terms
     all  0.6000  ############
    """
    ellipsis = "..." if ascii_only else "…"
    low, high = _range(figure)
    x_width = max((width_of(_x(figure, series, at)) for series, at in _points(figure)), default=0)
    y_width = max((width_of(_y(figure, series, at)) for series, at in _points(figure)), default=0)
    room = max(width - x_width - y_width - 5, _LEAST_BAR)
    label = f"{printable(figure.y_label)} by {printable(figure.x_label)}"
    scale = f"bars {_value(figure, low)} to {_value(figure, high)}"
    both = f"{label}, {scale}"
    head = [both] if width_of(both) <= width else [label, scale]
    lines = [shortened(line, width, ellipsis) for line in (printable(figure.title), *head)]
    for series in figure.series:
        lines += ["", shortened(printable(series.name), width, ellipsis)]
        for at, y in enumerate(series.y):
            bar = _bar(_share(y, low, high) * room, ascii_only=ascii_only)
            x = padded(_x(figure, series, at), x_width + 1, right=True)
            value = padded(_y(figure, series, at), y_width, right=True)
            lines.append(f"{x}  {value}  {bar}".rstrip())
        if not series.y:
            lines.append(" no values")
    text = "\n".join(lines)
    return text.replace("±", "+-").replace("–", "-") if ascii_only else text


def _points(figure: Figure) -> Sequence[tuple[Series, int]]:
    return [(series, at) for series in figure.series for at in range(len(series.y))]


def _x(figure: Figure, series: Series, at: int) -> str:
    return "all" if series in figure.baselines else printable(figure.x_text(series.x[at]))


def _y(figure: Figure, series: Series, at: int) -> str:
    value = shown(figure.y_label, series.y[at])
    if series.spread is None:
        return value
    return f"{value} ±{shown(figure.y_label, series.spread[at])}"


def _value(figure: Figure, value: float) -> str:
    return shown(figure.y_label, value) if value else "0"


def _range(figure: Figure) -> tuple[float, float]:
    """Return the values of an empty and a full bar."""
    values = [y for series in figure.series for y in series.y if math.isfinite(y)]
    low, high = min(values, default=0.0), max(values, default=0.0)
    span = high - low
    if low >= 0 and (span >= _VISIBLE_SPAN * high or span == 0):
        return 0.0, high
    return low - _ROOM_BELOW * (span or 1.0), high  # so that the least value has a bar as well


def _share(y: float, low: float, high: float) -> float:
    if not math.isfinite(y):
        return 1.0 if y == math.inf else 0.0
    return (y - low) / (high - low) if high > low else 0.0


def _bar(length: float, *, ascii_only: bool) -> str:
    if ascii_only:
        return "#" * round(length)
    whole, eighths = divmod(round(length * 8), 8)
    return "█" * whole + _EIGHTHS[eighths].strip()


_NOTED = (
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
            _text(", ".join(f"{one.label} {one.share:.0%}" for one in topic.labels[:_MOST_SHARES])),
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
    named = {name: getattr(record, name, None) for name in _NOTED}
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
                _text(", ".join(f"{word.word} {word.weight:+.2f}" for word in words)),
                "<br>".join(_text(one.title or one.id) for one in documents),
            )


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
