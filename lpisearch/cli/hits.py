"""Results: printed, and remembered for `open`.

Only the locations of the last results are stored, in the state folder of the system; neither the
query nor any text of the documents is. If they cannot be stored, only `open N` is affected.
"""

from __future__ import annotations

import re
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, replace
from enum import Enum
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from lpisearch.cli.output import (
    OUTPUT,
    link_to,
    note,
    predicted_labels,
    print_csv,
    print_json,
    print_prose,
    print_table,
    say,
)
from lpisearch.errors import BadOption
from lpisearch.messages import counted, printable
from lpisearch.model.codec import RankedRun
from lpisearch.model.excerpts import within_budget
from lpisearch.model.fields import option
from lpisearch.model.reports import run_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.text import Text as RichText

    from lpisearch.model.answers import Answer, Explanation, Hit, Passage, Run


_COLUMNS = (
    "rank",
    "score",
    "id",
    "title",
    "labels",
    "cosine",
    "bm25",
    "section",
    "snippet",
    "predicted",
    "alike",
)


_INDENT, _NARROWEST = " " * 4, 20
_DAY = len("2024-05-31")
AT_TERMINAL = 5
"""The number of results that a person is shown."""


class HitFormat(Enum):
    """The format of results."""

    PLAIN = "plain"
    JSON = "json"
    CSV = "csv"
    TREC = "trec"
    VIMGREP = "vimgrep"


@dataclass(frozen=True, slots=True)
class HitOutput:
    """How results are printed."""

    trec: bool = option(False, "Print a run in TREC format.", panel=OUTPUT, advanced=True)
    passages: int = option(
        1, "Passages to show of each result, up to 3.", metavar="N", minimum=1, panel=OUTPUT
    )
    budget: int | None = option(
        None,
        "Print at most N tokens (4 characters each), the best passages first.",
        metavar="N",
        minimum=25,
        panel=OUTPUT,
    )
    no_pager: bool = option(
        False,
        "Print long answers without a pager, as LPISEARCH_PAGER=cat does.",
        panel=OUTPUT,
        advanced=True,
    )
    csv: bool = option(
        False, "Print CSV (safe to open in a spreadsheet).", panel=OUTPUT, advanced=True
    )
    json: bool = option(False, "Print JSON only.", panel=OUTPUT)
    vimgrep: bool = option(
        False,
        "Print path:line:column:text of each passage, as editors read it.",
        panel=OUTPUT,
        advanced=True,
    )
    fail_if_none: bool = option(
        False, "Exit with status 1 if there are no results.", panel=OUTPUT, advanced=True
    )
    opened: int | None = option(
        None,
        "Open result N, like `lpisearch open N`.",
        name="open",
        metavar="N",
        minimum=1,
        panel=OUTPUT,
    )

    def __post_init__(self) -> None:
        if self.json + self.csv + self.trec + self.vimgrep > 1:
            raise BadOption(("json", "csv", "trec", "vimgrep"), "cannot be used together")

    @property
    def form(self) -> HitFormat:
        """The format."""
        chosen = {
            HitFormat.JSON: self.json,
            HitFormat.CSV: self.csv,
            HitFormat.TREC: self.trec,
            HitFormat.VIMGREP: self.vimgrep,
        }
        return next((form for form, on in chosen.items() if on), HitFormat.PLAIN)


def print_within(
    answer: Answer, output: HitOutput, query: str = "", *, scores: bool = False
) -> None:
    """Print the results of one query, as many as the budget of tokens allows."""
    if output.budget is not None:

        def shown(part: Answer) -> str:
            with redirect_stdout(Recorded(sys.stdout)) as recorded, redirect_stderr(StringIO()):
                print_answer(part, output, query, scores=scores)
            return recorded.getvalue()

        total = len(answer.hits)
        answer, is_cut = within_budget(answer, output.budget, shown)
        if is_cut:
            kept = f"{len(answer.hits):,} of {counted(total, 'result')}"
            more = "a larger --budget, or lpisearch docs show DOCUMENT"
            cut = f"Cut to {output.budget:,} tokens: {kept}. Next: {more}"
            answer = replace(answer, notes=(*answer.notes, cut))
    print_answer(answer, output, query, scores=scores)


class Recorded(StringIO):
    """A buffer that acts as a terminal where stdout is one, with the same colours and width."""

    def __init__(self, terminal: TextIO) -> None:
        super().__init__()
        self._terminal = terminal

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the terminal."""
        return str(getattr(self._terminal, "encoding", "utf-8"))

    def isatty(self) -> bool:
        """Tell whether stdout is a terminal."""
        return self._terminal.isatty()


def print_answer(
    answer: Answer, output: HitOutput, query: str = "", *, scores: bool = False
) -> bool:
    """Print the results of one query, with explanations; return whether there are any."""
    form = output.form
    for remark in answer.notes or (() if answer.hits else ("No results.",)):
        note(remark)
    if form is HitFormat.JSON:
        print_json(answer.hits)
    elif form is HitFormat.CSV:
        print_csv(_COLUMNS, [_row(hit) for hit in answer.hits])
    elif form is HitFormat.TREC:
        print_run([(query or "1", [(hit.id, hit.score) for hit in answer.hits])])
    elif form is HitFormat.VIMGREP:
        for hit in answer.hits:
            for line in _vimgrep(hit, output.passages):
                say(line)
    elif sys.stdout.isatty():
        _print_blocks(answer, output.passages, scores=scores)
    else:
        print_table(_COLUMNS, [_row(hit) for hit in answer.hits])
    if form is HitFormat.PLAIN:
        _print_explanations(answer)
    return bool(answer.hits)


def _print_explanations(answer: Answer) -> None:
    """Print the explanations of results, each after an empty line."""
    for hit in answer.hits:
        if hit.explanation is not None:
            say()
            _print_explanation(hit, hit.explanation)
            if hit.encoder is not None:
                print_prose(
                    f"   your encoder {hit.encoder.share:+.3f} of the score {hit.score:.3f}: its "
                    f"cosine {hit.encoder.value or 0:.3f}, which no words explain"
                )


_DEMOTED = {
    "language": "in another language than the query",
    "licence": "a licence",
    "changes": "a change log",
    "generated": "a generated file",
}


def _print_explanation(hit: Hit, why: Explanation) -> None:
    """Print the strongest pairs of words: "car → automobile, engine"."""
    print_prose(
        f"{hit.rank}. {printable(hit.title or hit.id)}: cosine {why.cosine:.3f}, made up of"
    )
    if hit.demoted:
        print_prose(f"   counts half: {_DEMOTED.get(hit.demoted, hit.demoted)}")
    if why.weights:
        weights = (f"{printable(word)} {weight:.1f}" for word, weight in why.weights)
        print_prose(f"   rarity of words: {', '.join(weights)}")
    pairs: dict[str, list[str]] = {}
    for pair in why.pairs:
        pairs.setdefault(pair.query_term, []).append(
            f"{pair.document_term} {pair.contribution:+.3f}"
        )
    for word, others in pairs.items():
        print_prose(f"   {word} → {', '.join(others)}")
    for topic in why.topics:
        share = f"{topic.dimension} {topic.contribution:+.3f}"
        print_prose(f"   topic {share}: {' '.join(topic.terms)}")


def print_run(runs: Iterable[Run]) -> None:
    """Print a TREC run."""
    for line in run_lines(runs):
        say(line)


_WORD = re.compile(r"\w+")
_GAP = r"(?:<[^<>]{0,300}>|[\W_])++"  # between two words: signs, white space, tags
_COMPARED_WORDS = (8, 4, 2, 1)
_MOST_BYTES = 50_000_000


def _vimgrep(hit: Hit, passages: int) -> Iterator[str]:
    """Yield the path, line, column and text of the best passages of a result.

    Line and column are those of the file in which the passage's first marked word is found, or
    1 and 1 where the file does not have it as text (PDF, office).
    """
    path = Path(hit.path)
    content = ""
    with suppress(OSError, ValueError):
        if path.is_file() and path.stat().st_size <= _MOST_BYTES:
            read = path.read_bytes()
            content = "" if b"\0" in read else read.decode(errors="replace")
    with suppress(ValueError):
        path = path.relative_to(Path.cwd())
    for passage in hit.passages[:passages]:
        at = _position(content, passage)
        line = content.count("\n", 0, at) + 1
        column = len(content[content.rfind("\n", 0, at) + 1 : at].encode()) + 1
        yield printable(f"{path if hit.path else hit.id}:{line}:{column}:{passage.text}")


def _position(content: str, passage: Passage) -> int:
    """Return where the first marked word of a passage is in the content of a file, or 0."""
    first = passage.marks[0][0] if passage.marks else 0
    words = _WORD.findall(passage.text[first:])
    for number in _COMPARED_WORDS:
        some = words[:number]
        found = re.finditer(_GAP.join(map(re.escape, some)), content) if some else ()
        starts = [match.start() for match in found]
        if starts:
            return min(starts, key=lambda start: abs(start - passage.start))
    return 0


def print_batch(runs: Iterable[Run], form: HitFormat) -> bool:
    """Print the results of many queries; return whether any has one."""
    has_results = False

    def watched() -> Iterator[Run]:
        nonlocal has_results
        for run in runs:
            has_results |= bool(run[1])
            yield run

    if form is HitFormat.TREC:
        print_run(watched())
    elif form is HitFormat.JSON:
        print_json([RankedRun.of(run) for run in watched()])
    else:
        columns = ("query", "rank", "id", "score")
        rows = [
            (query, rank, document, _number(score))
            for query, ranked in watched()
            for rank, (document, score) in enumerate(ranked, start=1)
        ]
        if form is HitFormat.CSV:
            print_csv(columns, rows)
        else:
            print_table(columns, rows)
    return has_results


def _row(hit: Hit) -> tuple[object, ...]:
    return (
        hit.rank,
        _number(hit.score),
        hit.id,
        hit.title,
        "; ".join(hit.labels),
        _number(hit.cosine),
        _number(hit.bm25),
        section_name(hit.snippet),
        hit.snippet.text,
        predicted_labels(hit.predicted),
        hit.alike or "",
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _print_blocks(answer: Answer, passages: int, *, scores: bool) -> None:
    """Print results as blocks: title, location, passages with their words marked."""
    from rich.console import Console
    from rich.style import Style
    from rich.text import Text

    console = Console(highlight=False)

    def show(text: Text, first: str = _INDENT) -> None:
        for line in text.wrap(console, max(console.width - len(_INDENT), _NARROWEST)):
            line.rstrip()
            console.print(Text.assemble(first, line), soft_wrap=True)
            first = _INDENT

    for hit in answer.hits:
        show(_head(hit), f"{hit.rank:>2}  ")
        link = link_to(hit.path, hit.snippet.page)
        path = _in_lines(printable(hit.id), console.width - len(_INDENT))
        location = Text(path, style=Style(dim=True, link=link or None))
        show(location.append(f"  {printable(hit.date[:_DAY])}" if hit.date else ""))
        if scores:
            show(Text(_scores(hit), style="dim"))
        for passage in filter(lambda passage: passage.text, hit.passages[:passages]):
            show(_marked(passage, hit.title))
        if hit is not answer.hits[-1]:
            console.print()


def _head(hit: Hit) -> RichText:
    """Return the title, with labels given and predicted."""
    from rich.text import Text

    head = Text().append(printable(hit.title or hit.id), style="bold")
    if hit.labels:
        head.append(f"  {printable(', '.join(hit.labels))}", style="green")
    if hit.alike:
        head.append(f"  + {hit.alike:,} alike", style="dim")
    if hit.predicted:
        head.append(f"  {printable(predicted_labels(hit.predicted))}", style="italic cyan")
    return head


def _in_lines(path: str, width: int) -> str:
    """Break a long path after slashes."""
    lines = [""]
    for part in re.split("(?<=/)", path):
        if lines[-1] and len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _marked(passage: Passage, title: str) -> RichText:
    """Return a passage with its page or section, if that is not the title, and its words marked."""
    from rich.text import Text

    text = Text()
    if (name := section_name(passage)) and name != title:
        text.append(f"{printable(name)}: ", style="cyan")
    for part, is_marked in _parts(passage):
        text.append(printable(part), style="bold yellow" if is_marked else "")
    return text


def _parts(passage: Passage) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a passage, and whether each is marked."""
    begun = 0
    for start, end in passage.marks:
        yield passage.text[begun:start], False
        yield passage.text[start:end], True
        begun = end
    yield passage.text[begun:], False


def section_name(passage: Passage) -> str:
    """Return the page and section of a passage: "page 12, Results", "chapter One"; or ""."""
    names = [f"page {passage.page}"] if passage.page else []
    section = passage.section
    if section is not None and section.kind != "page":
        is_heading = section.kind == "heading"
        names.append(section.name if is_heading else f"{section.kind} {section.name}")
    return ", ".join(names)


def _scores(hit: Hit) -> str:
    parts = [f"score {hit.score:.2f}"]
    if hit.cosine is not None and hit.bm25 is not None:
        parts.append(f"cosine {hit.cosine:.2f}{_rank(hit.cosine_rank)}")
        parts.append(f"BM25 {hit.bm25:.1f}{_rank(hit.bm25_rank)}")
    if hit.encoder is not None:
        parts.append(f"encoder {hit.encoder.value or 0:.2f}")
    return " · ".join(parts)


def _rank(rank: int | None) -> str:
    return "" if rank is None else f" (#{rank:,})"


def state_folder() -> Path:
    """Return the folder of the last results and of the history of the prompt."""
    from platformdirs import user_state_path

    return user_state_path("lpisearch", appauthor=False)
