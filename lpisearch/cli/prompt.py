"""The interactive prompt of `lpisearch query`."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from contextlib import contextmanager, redirect_stdout, suppress
from io import StringIO
from typing import TYPE_CHECKING

from lpisearch.cli.answers import recall, remember, state_folder
from lpisearch.cli.hits import HitFormat, print_answer
from lpisearch.cli.open import open_and_say
from lpisearch.cli.render import note, pass_on, say
from lpisearch.cli.words import spoken
from lpisearch.errors import LpiSearchError
from lpisearch.wording import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import typer

    from lpisearch.library import Library
    from lpisearch.settings import SearchOptions

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


def ask_and_answer(context: typer.Context, library: Library, options: SearchOptions) -> bool:
    """Answer questions until the person leaves; the index stays open. Say if any was found."""
    note("Type a query, “help” for help, or “quit” to leave.")
    some = False
    with _history(), suppress(EOFError, KeyboardInterrupt):
        while True:
            text = input(_PROMPT).strip()
            if text in _LEAVE:
                return some
            with _answering():
                some |= _answer(context, library, options, text)
    say()
    return some


def _answer(context: typer.Context, library: Library, options: SearchOptions, text: str) -> bool:
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
    paged(lambda: print_answer(answer, HitFormat.PLAIN, text))
    return bool(answer)


@contextmanager
def _answering() -> Iterator[None]:
    """State what one question comes to; the next can be asked all the same."""
    try:
        yield
    except LpiSearchError as error:
        note(f"Error: {printable(spoken(error.message))}")


def paged(show: Callable[[], object]) -> None:
    """Print; what is longer than the terminal goes through a pager."""
    if not sys.stdout.isatty():
        show()
        return
    printed = _Recorded(sys.stdout)
    with redirect_stdout(printed):
        show()
    text = printed.getvalue()
    lines = shutil.get_terminal_size().lines
    if text.count("\n") < lines - 1 or not _page(text):
        pass_on(text)


class _Recorded(StringIO):
    """What goes to a terminal, kept: colours and width are as they would be there."""

    def __init__(self, terminal: object) -> None:
        super().__init__()
        self.encoding_ = getattr(terminal, "encoding", "utf-8")

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """That of the terminal."""
        return str(self.encoding_)

    def isatty(self) -> bool:
        """Say that it is a terminal, as what it stands for is."""
        return True


def _page(text: str) -> bool:
    """Show a text in the person's pager; tell whether there is one."""
    pager = shlex.split(os.environ.get("PAGER", "")) or ["less"]
    if shutil.which(pager[0]) is None:
        return False
    environment = {"LESS": "-FRX", **os.environ}
    with suppress(OSError, KeyboardInterrupt):
        subprocess.run(pager, input=text.encode(), env=environment, check=False)  # noqa: S603 (the person's own)
        return True
    return False


@contextmanager
def _history() -> Iterator[None]:
    """Let questions of earlier times be called back, where the system can edit a line."""
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
