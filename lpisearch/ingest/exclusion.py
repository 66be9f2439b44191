"""Decide which files and folders to exclude, and why.

Asked in this order, the first that has a word decides: the globs of the option `exclude`, the
`.lpisearchignore` files from the innermost folder out, then what is hidden or made by machines,
then the `.gitignore` files. So a `!pattern` in `.lpisearchignore` brings back what is left out
by rule.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from lpisearch.ingest.ignore_patterns import IgnorePatterns
from lpisearch.settings import MEBIBYTE, FindOptions

if TYPE_CHECKING:
    from collections.abc import Collection

GIT, OWN = ".gitignore", ".lpisearchignore"
_LARGEST = MEBIBYTE
_PACKAGES = {"node_modules", "bower_components"}
_CACHES = {"__pycache__"}
_CACHE_TAG = "CACHEDIR.TAG"
_CACHE_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"
_ENVIRONMENT = "pyvenv.cfg"


@dataclass(frozen=True, slots=True)
class Exclusion:
    """What holds in one folder: the rules that were given, and those of the folders around it.

    Attributes
    ----------
    options
        What was asked for.
    exclude
        The globs of the option.
    own, git
        The files of patterns that hold here, the innermost first.
    """

    options: FindOptions
    exclude: IgnorePatterns
    own: tuple[IgnorePatterns, ...] = field(default=())
    git: tuple[IgnorePatterns, ...] = field(default=())

    @classmethod
    def at(cls, root: str, options: FindOptions) -> Self:
        """Return what holds around a folder that was named.

        Patterns of the folders around it count, `.gitignore` as far as the repository goes; but
        a folder that they leave out was named all the same, so that they do not count within.
        """
        outside = cls(options, IgnorePatterns.of(root, options.exclude))
        found = outside
        top = _repository(root)
        for parent in reversed(Path(root).parents):
            in_repository = top is not None and parent.is_relative_to(top)
            found = found.within(str(parent), (GIT, OWN) if in_repository else (OWN,))
        return outside if found.reason(root, is_folder=True, usual=False) else found

    def within(self, folder: str, names: Collection[str]) -> Self:
        """Return what holds in a folder, given the names of what is in it."""
        if self.options.no_ignore:
            return self
        own = (*_patterns(folder, OWN, names), *self.own)
        git = (*_patterns(folder, GIT, names), *self.git)
        return self if (own, git) == (self.own, self.git) else replace(self, own=own, git=git)

    def reason(self, path: str, *, is_folder: bool, usual: bool = True) -> str:
        """Return why a path is left out (a key of `IngestReport.left_out`), or ""."""
        if self.exclude.verdict(path, is_folder=is_folder):
            return "exclude"
        stated = _first(self.own, path, is_folder=is_folder)
        if stated is not None:
            return "lpisearchignore" if stated else ""
        if usual and (known := self._usual(os.path.basename(path), is_folder=is_folder)):
            return known
        return "gitignore" if _first(self.git, path, is_folder=is_folder) else ""

    def within_reason(self, folder: str, names: Collection[str]) -> str:
        """Return why a folder is left out for what is in it, or ""."""
        if self.options.no_ignore:
            return ""
        if _ENVIRONMENT in names:
            return "packages"
        return "caches" if _CACHE_TAG in names and _is_tagged(folder) else ""

    def _usual(self, name: str, *, is_folder: bool) -> str:
        if name.startswith(".") and not self.options.hidden:
            return "hidden"
        if self.options.no_ignore or not is_folder:
            return ""
        return "packages" if name in _PACKAGES else "caches" if name in _CACHES else ""


def _repository(root: str) -> Path | None:
    """Return the top folder of the repository that a folder is in."""
    folder = Path(root)
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def _first(files: tuple[IgnorePatterns, ...], path: str, *, is_folder: bool) -> bool | None:
    verdicts = (each.verdict(path, is_folder=is_folder) for each in files)
    return next((verdict for verdict in verdicts if verdict is not None), None)


def _patterns(folder: str, name: str, names: Collection[str]) -> list[IgnorePatterns]:
    """Read one file of patterns; one that is too large, or cannot be read, has none."""
    if name not in names:
        return []
    try:
        with open(os.path.join(folder, name), "rb") as stream:
            data = stream.read(_LARGEST)
    except OSError:
        return []
    return [IgnorePatterns.of(folder, data.decode("utf-8-sig", "replace").split("\n"))]


def _is_tagged(folder: str) -> bool:
    """Tell whether a folder says of itself that it is a cache (bford.info/cachedir)."""
    try:
        with open(os.path.join(folder, _CACHE_TAG), "rb") as stream:
            return stream.read(len(_CACHE_SIGNATURE)) == _CACHE_SIGNATURE
    except OSError:
        return False
