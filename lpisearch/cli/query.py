"""The verbs query, similar and open, and the prompt.

Few viewers show manual pages, messages of a mailbox, compressed files and what is inside other
files as they were read: `open` shows them here. The last search is stored in the state folder, so
that its results can be opened by their numbers.
"""

from __future__ import annotations

import json as json_format
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import closing, contextmanager, redirect_stdout, suppress
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lpisearch.cli import options as typed
from lpisearch.cli.commands import ExclusionsAsText, is_typed, load, names_library
from lpisearch.cli.hits import (
    AT_TERMINAL,
    HitFormat,
    HitOutput,
    Recorded,
    print_batch,
    print_within,
    state_folder,
)
from lpisearch.cli.options import accepts, without
from lpisearch.cli.output import (
    Json,
    confirm,
    note,
    pass_on,
    print_json,
    print_prose,
    render_message,
    say,
)
from lpisearch.errors import BadOption, LpiSearchError
from lpisearch.files import whole_file
from lpisearch.messages import counted, printable
from lpisearch.options import RELEVANCE, SearchOptions
from lpisearch.viewers import HitLocation, open_location

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lpisearch.library import Library
    from lpisearch.location import Location
    from lpisearch.model.answers import Answer
    from lpisearch.model.documents import Document


_RUN_DEPTH = 1000
_RANKING = "Ranking"  # heading of the help


@accepts("unlike", "index")
def query(
    context: typer.Context,
    text: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT",
            help='The query: "a phrase" must occur, -word must not, begin* matches a prefix, '
            "title:word searches titles, a OR b matches either.",
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            metavar="N",
            min=0,
            help="Number of results (default: 5 at a terminal, 10 in a pipe, 1000 with --trec).",
        ),
    ] = None,
    *,
    options: SearchOptions,
    output: HitOutput,
    like: Annotated[
        list[str] | None,
        typer.Option(
            "--like",
            metavar="ID",
            help="More like this document (repeatable).",
            rich_help_panel=_RANKING,
            autocompletion=typed.documents,
        ),
    ] = None,
    unlike: Annotated[
        list[str] | None,
        typer.Option(
            "--unlike",
            metavar="ID",
            help="Less like this document (repeatable).",
            rich_help_panel=_RANKING,
            hidden=True,
            autocompletion=typed.documents,
        ),
    ] = None,
    queries: Annotated[
        Path | None,
        typer.Option(
            "--queries",
            metavar="FILE",
            help="Run a batch of queries (JSON Lines or TSV); quotes and minus signs are "
            "taken literally.",
            hidden=True,
        ),
    ] = None,
) -> None:
    """Search by meaning and by words. Without TEXT, prompts for queries on a terminal."""
    if output.trec and not is_typed(context, "k"):
        k = _RUN_DEPTH  # a run is deep, however few results a person wants to read
    if k is None and _is_read(output):
        k = AT_TERMINAL
    whole_run = output.trec and not is_typed(context, "collapse")
    collapse = options.collapse and not whole_run
    options = replace(options, k=options.k if k is None else k, collapse=collapse)
    if output.trec and options.sort != RELEVANCE:
        raise BadOption("sort", "a TREC run is always sorted by score")
    library: Library = context.obj.library
    offer_library(context)
    if queries is not None:
        _refuse_for_batch(output)
        with closing(library.batch(queries, options=options, on_note=note)) as runs:
            some = print_batch(runs, output.form)
    elif (words := " ".join(text or ()).strip()) or like or unlike:
        answer = library.search(words, like=like or (), unlike=unlike or (), options=options)
        remember(library.path, answer)
        some = _print(answer, output, words, scores=options.explain)
        if output.opened is not None:
            open_and_say(context, recall(output.opened, library.path), aside=True)
    elif sys.stdin.isatty() and not text:
        some = ask_and_answer(context, library, options, output)
    else:
        raise EmptyQuery
    if output.fail_if_none and not some:
        raise typer.Exit(1)


@accepts()
def similar(
    context: typer.Context,
    document: Annotated[
        str,
        typer.Argument(
            metavar="DOCUMENT",
            help="Document id, path, or any other file.",
            autocompletion=typed.documents,
        ),
    ],
    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            metavar="N",
            min=0,
            help="Number of results (default: 5 at a terminal, 10 in a pipe).",
        ),
    ] = None,
    *,
    options: Annotated[SearchOptions, without("semantic_weight", "explain")],
    output: Annotated[HitOutput, without("trec", "opened")],
) -> None:
    """Find documents similar to one in the library, or to any other file."""
    if k is None and _is_read(output):
        k = AT_TERMINAL
    options = options if k is None else replace(options, k=k)
    answer = context.obj.library.similar(document, options=options)
    remember(context.obj.library.path, answer)
    if not _print(answer, output) and output.fail_if_none:
        raise typer.Exit(1)


def _refuse_for_batch(output: HitOutput) -> None:
    for name in ("vimgrep", "budget"):
        if getattr(output, name):
            raise BadOption(("queries", name), "cannot be used together")


def _is_read(output: HitOutput) -> bool:
    """Tell whether a person reads the results."""
    return output.form is HitFormat.PLAIN and sys.stdout.isatty()


def _print(answer: Answer, output: HitOutput, query: str = "", *, scores: bool = False) -> bool:
    """Print an answer, on a terminal through a pager if it is longer than that."""

    def show() -> None:
        print_within(answer, output, query, scores=scores)

    if _is_read(output) and not output.no_pager:
        paged(show)
    else:
        show()
    return bool(answer.hits)


class EmptyQuery(LpiSearchError):
    """There is nothing to search for."""

    exit_status = 2

    def __init__(self) -> None:
        super().__init__(
            "The query is empty.",
            'type what you are looking for: lpisearch search "why does my bread stay flat"',
        )


_MOST_COUNTED = 10_000


def offer_library(context: typer.Context) -> None:
    """Where a library is missing, offer on a terminal to make one of the current folder."""
    path = context.obj.library.path
    if not (sys.stdin.isatty() and sys.stderr.isatty() and isinstance(path, Path)):
        return
    if path.exists() or names_library(context) or os.environ.get("LPISEARCH_DB"):
        return
    number = sum(1 for _ in islice(_files(), _MOST_COUNTED + 1))
    if not number:
        return
    several = number > _MOST_COUNTED
    files = f"more than {_MOST_COUNTED:,} files" if several else counted(number, "file")
    question = f"There is no library yet. Make one of the {files} in {Path.cwd()}?"
    if confirm(question.replace("the more", "more"), default=not several):
        command = load("ingest")
        with command.make_context("ingest", ["."], parent=context.parent) as ingest:
            command.invoke(ingest)


def _files() -> Iterator[str]:
    """Yield the files of the current folder that are not hidden."""
    for _, folders, files in os.walk("."):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (name for name in files if not name.startswith("."))


query_app = typer.Typer(add_completion=False)
query_app.command("query", cls=ExclusionsAsText)(query)


_PAGERS = ("LPISEARCH_PAGER", "PAGER")
_PROMPT = "? "
_LEAVE = frozenset({"quit", "exit", ":q", ":quit"})
_HELP = frozenset({"help", "?", ":h", ":help"})
_HISTORY = 1000
_TEXT = """\
Type a query and press Enter. "A phrase" must occur, -word must not, begin* matches a prefix.
  open N      open result N in its default program
  help        show this help
  quit        leave (also :q, Ctrl-D, Ctrl-C)
To search for one of these words, put it in quotation marks."""


def ask_and_answer(
    context: typer.Context, library: Library, options: SearchOptions, output: HitOutput
) -> bool:
    """Answer queries until the user leaves; return whether any had results."""
    note("Type a query, “help” for help, or “quit” to leave.")
    some = False
    with _history(), suppress(EOFError, KeyboardInterrupt):
        while True:
            text = input(_PROMPT).strip()
            if text in _LEAVE:
                return some
            with _answering():
                some |= _answer(context, library, options, output, text)
    say()
    return some


def _answer(
    context: typer.Context, library: Library, options: SearchOptions, output: HitOutput, text: str
) -> bool:
    verb, _, number = text.partition(" ")
    if not text:
        return False
    if text in _HELP:
        say(_TEXT)
        return False
    if verb in {"open", ":open"} and number.strip().isdecimal():
        open_and_say(context, recall(int(number), library.path))
        return False
    answer = library.search(text, options=options)
    remember(library.path, answer)
    return _print(answer, replace(output, json=False, csv=False), text, scores=options.explain)


@contextmanager
def _answering() -> Iterator[None]:
    """Report the error of one query; the prompt goes on."""
    try:
        yield
    except LpiSearchError as error:
        note(f"Error: {printable(render_message(error.message))}")


def paged(show: Callable[[], object]) -> None:
    """Print, through a pager if it is longer than the terminal."""
    if not sys.stdout.isatty():
        show()
        return
    printed = Recorded(sys.stdout)
    with redirect_stdout(printed):
        show()
    text = printed.getvalue()
    lines = shutil.get_terminal_size().lines
    if text.count("\n") < lines - 1 or not _page(text):
        pass_on(text)


def _page(text: str) -> bool:
    """Show a text in the user's pager; return whether there is one."""
    named = next((name for name in _PAGERS if name in os.environ), "")
    pager = shlex.split(os.environ.get(named, "less"))
    if not pager or pager == ["cat"] or shutil.which(pager[0]) is None:
        return False
    environment = {"LESS": "-FRX", **os.environ}
    with suppress(OSError, KeyboardInterrupt):
        subprocess.run(pager, input=text.encode(), env=environment, check=False)  # noqa: S603 (the user's own)
        return True
    return False


@contextmanager
def _history() -> Iterator[None]:
    """Keep the history of queries, if the system can edit a line."""
    try:
        import readline
    except ImportError:  # pragma: no cover (Windows has none)
        yield
        return
    file: Path = state_folder() / "history"
    with suppress(OSError):
        readline.read_history_file(file)
    readline.set_history_length(_HISTORY)
    try:
        yield
    finally:
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file.touch(mode=0o600)
            readline.write_history_file(file)


def open_(
    context: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            metavar="N|DOCUMENT",
            help="Result number, document id or path.",
            autocompletion=typed.documents,
        ),
    ] = "1",
    json: Json = False,
) -> None:
    """Open a result of the last search, or a document, in its default program.

    PDF files open at the page of the passage, if the viewer supports it. Manual pages, mailboxes
    and compressed files are shown here.
    """
    location = _location(context, what)
    if json:
        facts = {"id": location.id, "file": location.path, "page": location.page}
        if _is_shown_here(context, location):
            text = context.obj.library.document(location.id).text
            print_json({**facts, "text": text})
        else:
            print_json({**facts, "file": str(_open(context, location))})
    else:
        open_and_say(context, location)


def open_and_say(context: typer.Context, location: HitLocation, *, aside: bool = False) -> None:
    """Open a location and report it; with `aside` on stderr, next to other results."""
    if _is_shown_here(context, location) and not aside:
        _show_here(context.obj.library.document(location.id))
        return
    file = _open(context, location)
    say(f"Opened {file}{f', page {location.page}' if location.page else ''}.", aside=aside)


def _open(context: typer.Context, location: HitLocation) -> Path:
    chosen = context.obj.preferences.get("opener")
    return open_location(location, "" if chosen is None else chosen.value)


# Formats that a viewer would show as source text or not at all.
_SHOWN = re.compile(
    r"\.(?:gz|bz2|xz|zip|tar|tgz|tbz2|txz|mbox|mbx|man|mdoc|[1-9][a-z]{0,2})$", re.IGNORECASE
)


def _is_shown_here(context: typer.Context, location: HitLocation) -> bool:
    """Tell whether this program shows a document itself; never if the user chose an opener."""
    if context.obj.preferences.get("opener") is not None:
        return False
    path = Path(location.path)
    is_inside = f"{path.name}/" in location.id or ("#" in location.id and not path.suffix)
    return bool(location.path) and (is_inside or _SHOWN.search(path.name) is not None)


def _show_here(document: Document) -> None:
    """Print a document, on a terminal through a pager."""

    def show() -> None:
        if document.title and not document.text.startswith(document.title):
            say(f"{document.title}\n")
        print_prose(document.text)

    paged(show)


def _location(context: typer.Context, what: str) -> HitLocation:
    library = context.obj.library
    if what.isdecimal():
        return recall(int(what), library.path if names_library(context) else None)
    document = library.document(what)
    return HitLocation(document.id or what, document.path)


_OWNER_ONLY = 0o600
_NEXT = "lpisearch search TEXT"


def remember(library: Location, answer: Answer) -> None:
    """Store the locations of results under their numbers; a failure is ignored."""
    locations = {
        str(hit.rank): asdict(HitLocation(hit.id, hit.path, hit.snippet.page)) for hit in answer
    }
    text = json_format.dumps({"library": str(library.absolute()), "hits": locations})
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
        stored = json_format.loads(_file().read_bytes())
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
