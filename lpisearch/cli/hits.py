"""Hits printed; last answer remembered.

Only places are kept, neither the question nor a word of the documents, in the folder for such state
of the system. What cannot be kept is not missed before it is asked for.
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
    """What to print."""

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


def print_answer(
    answer: Answer,
    form: HitFormat,
    query: str = "",
) -> bool:
    """Print the hits of one query, and why they are near where that was asked; say if any are."""
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
    """Print why hits are near, an empty line before each; a terminal has one after the hits."""
    for hit in answer.hits:
        if hit.explanation is not None:
            if hit is not answer.hits[0] or not sys.stdout.isatty():
                say()
            _print_explanation(hit, hit.explanation)


def _print_explanation(hit: Hit, why: Explanation) -> None:
    """Print the strongest meetings of words: "car → automobile, engine"."""
    print_prose(
        f"{hit.rank}. {printable(hit.title or hit.id)}: cosine {why.cosine:.3f}, made up of"
    )
    met: dict[str, list[str]] = {}
    for pair in why.pairs:
        met.setdefault(pair.query_term, []).append(f"{pair.document_term} {pair.contribution:+.3f}")
    for word, others in met.items():
        print_prose(f"   {word} → {', '.join(others)}")
    for topic in why.topics:
        said = f"topic {topic.dimension} {topic.contribution:+.3f}"
        print_prose(f"   {said}: {' '.join(topic.terms)}")


def print_run(runs: Iterable[Run]) -> None:
    """Print a TREC run."""
    for line in run_lines(runs):
        say(line)


def print_batch(runs: Iterable[Run], form: HitFormat) -> bool:
    """Print the answers to many queries; say whether any of them found something."""
    found = set()

    def heard() -> Iterator[Run]:
        for run in runs:
            found.add(bool(run[1]))
            yield run

    if form is HitFormat.TREC:
        print_run(heard())
    elif form is HitFormat.JSON:
        print_json([RankedRun.of(run) for run in heard()])
    else:
        columns = ("query", "rank", "id", "score")
        rows = [
            (query, rank, document, _number(score))
            for query, ranked in heard()
            for rank, (document, score) in enumerate(ranked, start=1)
        ]
        if form is HitFormat.CSV:
            print_csv(columns, rows)
        else:
            print_table(columns, rows)
    return True in found


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
    """Print hits for reading: title and place, the legs, the passage with its words marked."""
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
        place = Text(printable(hit.id), style=Style(dim=True, link=link or None), overflow="fold")
        for line in (place, Text(_legs(hit), style="dim")):
            console.print(Padding(line, (0, 0, 0, 4)))
        for shown in filter(lambda each: each.text, hit.passages):
            passage = Text()
            if name := section_name(shown):
                passage.append(f"{printable(name)}: ", style="cyan")
            for part, is_marked in _parts(shown):
                passage.append(printable(part), style="bold yellow" if is_marked else "")
            console.print(Padding(passage, (0, 0, int(shown is hit.passages[-1]), 4)))


def _parts(passage: Passage) -> Iterator[tuple[str, bool]]:
    """Yield a passage in parts, and whether each is marked."""
    begun = 0
    for start, end in passage.marks:
        yield passage.text[begun:start], False
        yield passage.text[start:end], True
        begun = end
    yield passage.text[begun:], False


def section_name(passage: Passage) -> str:
    """Say where a passage stands: "page 12", "page 12, Results", "chapter One"; or ""."""
    names = [f"page {passage.page}"] if passage.page else []
    section = passage.section
    if section is not None and section.kind != "page":
        is_heading = section.kind == "heading"
        names.append(section.name if is_heading else f"{section.kind} {section.name}")
    return ", ".join(names)


def _legs(hit: Hit) -> str:
    parts = [f"score {hit.score:.2f}"]
    if hit.cosine is not None and hit.bm25 is not None:
        parts.append(f"cosine {hit.cosine:.2f}{_place(hit.cosine_rank)}")
        parts.append(f"BM25 {hit.bm25:.1f}{_place(hit.bm25_rank)}")
    return " · ".join(parts)


def _place(rank: int | None) -> str:
    return "" if rank is None else f" (#{rank:,})"


_FOR_ME_ALONE = 0o600
_ASK = "lpisearch query TEXT"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a hit is: a document of a library, its file, and the page of its best passage."""

    id: str
    path: str
    page: str = ""


def state_folder() -> Path:
    """Return where answers and the history of the prompt are kept."""
    from platformdirs import user_state_path

    return user_state_path("lpisearch", appauthor=False)


def remember(library: Location, answer: Answer) -> None:
    """Keep where the hits of an answer are, under their numbers; nothing is said if it cannot."""
    places = {str(hit.rank): asdict(Place(hit.id, hit.path, hit.snippet.page)) for hit in answer}
    text = json.dumps({"library": str(library.absolute()), "hits": places})
    with suppress(OSError, UnicodeEncodeError):
        file = _file()
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with whole_file(file, _FOR_ME_ALONE) as stream:
            stream.write(text.encode())


def recall(number: int, library: Location | None = None) -> Place:
    """Return where a hit of the last answer is.

    Parameters
    ----------
    number
        As it was shown.
    library
        The one that is meant, if one was named.

    Raises
    ------
    LpiSearchError
        Nothing was asked, the answer has no such hit, or it was of another library.
    """
    try:
        kept = json.loads(_file().read_bytes())
        asked, hits = str(kept["library"]), kept["hits"]
    except (OSError, ValueError, KeyError, TypeError):
        raise LpiSearchError("There is no earlier search to open a result from.", _ASK) from None
    if library is not None and str(library.absolute()) != asked:
        raise LpiSearchError(f"The last search was in {asked}, not in {library}.", _ASK)
    try:
        return Place(**hits[str(number)])
    except KeyError:
        have = f"results {min(map(int, hits))} to {max(map(int, hits))}" if hits else "nothing"
        raise LpiSearchError(
            f"The last search has no result {number}; it returned {have}.", _ASK
        ) from None


def _file() -> Path:
    return state_folder() / "last-answer.json"
