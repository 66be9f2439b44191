"""Command-line arguments of benchmarks: names, paths or none."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def names(says: str | None, metavar: str, known: Iterable[str]) -> list[str]:
    """Return the names that were typed, perhaps none; others than those known are refused."""
    listed = ", ".join(choices := list(known))

    def one(text: str) -> str:
        if text not in choices:
            raise ArgumentTypeError(f"“{text}” is none of {listed}")
        return text

    parser = _parser(says)
    parser.add_argument("names", nargs="*", metavar=metavar, type=one, help=listed)
    return list(parser.parse_args().names)


def paths(says: str | None, metavar: str, *, several: bool = False) -> list[Path]:
    """Return the paths that were typed, one at most or several; what is not there is refused."""
    parser = _parser(says)
    nargs = "*" if several else "?"
    parser.add_argument("paths", nargs=nargs, metavar=metavar, type=_there, default=[])
    typed = parser.parse_args().paths
    return [typed] if isinstance(typed, Path) else list(typed)


def nothing(says: str | None) -> None:
    """Refuse whatever is typed."""
    _parser(says).parse_args()


def _parser(says: str | None) -> ArgumentParser:
    return ArgumentParser(description=says, formatter_class=RawDescriptionHelpFormatter)


def _there(text: str) -> Path:
    path = Path(text)
    if not path.exists():
        raise ArgumentTypeError(f"no such file or folder: {text}")
    return path
