"""Results: printed, and remembered for `open`.

Only the locations of the last results are stored, in the state folder of the system; neither the
query nor any text of the documents is. If they cannot be stored, only `open N` is affected.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

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
from lpisearch.errors import BadOption, LpiSearchError
from lpisearch.files import whole_file
from lpisearch.messages import printable
from lpisearch.model.codec import RankedRun
from lpisearch.model.fields import option
from lpisearch.model.reports import run_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lpisearch.location import Location
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
)


class HitFormat(Enum):
    """The format of results."""

    PLAIN = "plain"
    JSON = "json"
    CSV = "csv"
    TREC = "trec"


@dataclass(frozen=True, slots=True)
class HitOutput:
    """How results are printed."""

    trec: bool = option(False, "Print a run in TREC format.", panel=OUTPUT)
    csv: bool = option(False, "Print CSV (safe to open in a spreadsheet).", panel=OUTPUT)
    json: bool = option(False, "Print JSON only.", panel=OUTPUT)
    fail_if_none: bool = option(False, "Exit with status 1 if there are no results.", panel=OUTPUT)
    opened: int | None = option(
        None,
        "Open result N, like `lpisearch open N`.",
        name="open",
        metavar="N",
        minimum=1,
        panel=OUTPUT,
    )

    def __post_init__(self) -> None:
        if self.json + self.csv + self.trec > 1:
            raise BadOption(("json", "csv", "trec"), "cannot be used together")

    @property
    def form(self) -> HitFormat:
        """The format."""
        formats = {HitFormat.JSON: self.json, HitFormat.CSV: self.csv, HitFormat.TREC: self.trec}
        return next((form for form, on in formats.items() if on), HitFormat.PLAIN)


def print_answer(answer: Answer, form: HitFormat, query: str = "") -> bool:
    """Print the results of one query, with explanations; return whether there are any."""
    for remark in answer.notes or (() if answer.hits else ("No results.",)):
        note(remark)
    if form is HitFormat.JSON:
        print_json(answer.hits)
    elif form is HitFormat.CSV:
        print_csv(_COLUMNS, [_row(hit) for hit in answer.hits])
    elif form is HitFormat.TREC:
        print_run([(query or "1", [(hit.id, hit.score) for hit in answer.hits])])
    elif sys.stdout.isatty():
        _print_blocks(answer)
    else:
        print_table(_COLUMNS, [_row(hit) for hit in answer.hits])
    if form is HitFormat.PLAIN:
        _print_explanations(answer)
    return bool(answer.hits)


def _print_explanations(answer: Answer) -> None:
    """Print the explanations of results, each after an empty line."""
    for hit in answer.hits:
        if hit.explanation is not None:
            if hit is not answer.hits[0] or not sys.stdout.isatty():
                say()
            _print_explanation(hit, hit.explanation)


def _print_explanation(hit: Hit, why: Explanation) -> None:
    """Print the strongest pairs of words: "car → automobile, engine"."""
    print_prose(
        f"{hit.rank}. {printable(hit.title or hit.id)}: cosine {why.cosine:.3f}, made up of"
    )
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
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _print_blocks(answer: Answer) -> None:
    """Print results as blocks: title, location, scores, passages with their words marked."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.style import Style
    from rich.text import Text

    console = Console(highlight=False)
    for hit in answer.hits:
        head = Text(f"{hit.rank:>2}  ")
        head.append(printable(hit.title or hit.id), style="bold")
        if hit.labels:
            head.append(f"  {printable(', '.join(hit.labels))}", style="green")
        if hit.predicted:
            head.append(f"  {printable(predicted_labels(hit.predicted))}", style="italic cyan")
        console.print(head)
        link = link_to(hit.path, hit.snippet.page)
        location = Text(
            printable(hit.id), style=Style(dim=True, link=link or None), overflow="fold"
        )
        for line in (location, Text(_scores(hit), style="dim")):
            console.print(Padding(line, (0, 0, 0, 4)))
        for shown in filter(lambda passage: passage.text, hit.passages):
            text = Text()
            if name := section_name(shown):
                text.append(f"{printable(name)}: ", style="cyan")
            for part, is_marked in _parts(shown):
                text.append(printable(part), style="bold yellow" if is_marked else "")
            console.print(Padding(text, (0, 0, int(shown is hit.passages[-1]), 4)))


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
    return " · ".join(parts)


def _rank(rank: int | None) -> str:
    return "" if rank is None else f" (#{rank:,})"


_OWNER_ONLY = 0o600
_NEXT = "lpisearch query TEXT"


@dataclass(frozen=True, slots=True)
class HitLocation:
    """Where a result is: the id of the document, its file, and the page of its best passage."""

    id: str
    path: str
    page: str = ""


def state_folder() -> Path:
    """Return the folder of the last results and of the history of the prompt."""
    from platformdirs import user_state_path

    return user_state_path("lpisearch", appauthor=False)


def remember(library: Location, answer: Answer) -> None:
    """Store the locations of results under their numbers; a failure is ignored."""
    locations = {
        str(hit.rank): asdict(HitLocation(hit.id, hit.path, hit.snippet.page)) for hit in answer
    }
    text = json.dumps({"library": str(library.absolute()), "hits": locations})
    with suppress(OSError, UnicodeEncodeError):
        file = _file()
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with whole_file(file, _OWNER_ONLY) as stream:
            stream.write(text.encode())


def recall(number: int, library: Location | None = None) -> HitLocation:
    """Return where a result of the last search is.

    Raises `LpiSearchError` if there is none, or if the search was in another library.
    """
    try:
        stored = json.loads(_file().read_bytes())
        searched, hits = str(stored["library"]), stored["hits"]
    except (OSError, ValueError, KeyError, TypeError):
        raise LpiSearchError("There is no earlier search to open a result from.", _NEXT) from None
    if library is not None and str(library.absolute()) != searched:
        raise LpiSearchError(f"The last search was in {searched}, not in {library}.", _NEXT)
    try:
        return HitLocation(**hits[str(number)])
    except KeyError:
        present = f"results {min(map(int, hits))} to {max(map(int, hits))}" if hits else "nothing"
        raise LpiSearchError(
            f"The last search has no result {number}; it returned {present}.", _NEXT
        ) from None


def _file() -> Path:
    return state_folder() / "last-answer.json"
