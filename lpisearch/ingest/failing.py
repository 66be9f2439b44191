"""Remember failed files and skip them until they change."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lpisearch.records import UNFINISHED, FailedFile, Trouble
from lpisearch.version import VERSION

if TYPE_CHECKING:
    from lpisearch.ingest.discovery import FoundFile
    from lpisearch.records import IngestReport
    from lpisearch.storage import Store, Transaction

_LISTED = 1000
_STORED = 100


class FailureLog:
    """Sorts failures into new and known ones, and keeps them in the library.

    Parameters
    ----------
    store
        The library.
    report
        To which failures are added.
    *circumstances
        What the reading depends on; what failed under others, or in another version of this
        program, is tried again.
    anew
        Whether failures of earlier runs are tried, and told, again.
    """

    def __init__(
        self, store: Store, report: IngestReport, *circumstances: object, anew: bool = False
    ) -> None:
        with store.reading() as snapshot:
            self._stored = snapshot.sources.failed()
        self._report = report
        self._anew = anew
        self._read_options = " ".join(map(str, (VERSION, *circumstances)))
        self._open: dict[str, list[Trouble]] = {}
        self._numbers: dict[str, int] = {}
        self._passing: set[str] = set()
        self._ended: dict[str, FoundFile | None] = {}

    @property
    def pending(self) -> int:
        """How many files have ended since the last `save`."""
        return len(self._ended)

    def is_settled(self, file: FoundFile) -> bool:
        """Tell whether a file failed before, and would fail again in the same way."""
        known = self._stored.get(file.path)
        return (
            known is not None
            and (known.size, known.mtime_ns) == (file.size, file.mtime_ns)
            and known.read_options == self._read_options
        )

    def repeat(self, file: FoundFile) -> None:
        """Count the failures of a file that is not tried again."""
        known = self._stored[file.path]
        self._report.known_failures.extend(known.troubles)
        self._report.unlisted += known.number - len(known.troubles)

    def note(self, trouble: Trouble, *, passing: bool = False) -> None:
        """Take in a failure; a passing one lets its file be tried again at the next run."""
        path = trouble.path
        if passing:
            self._passing.add(path)
        number = self._numbers[path] = self._numbers.get(path, 0) + 1
        whole = not trouble.where  # what is said of the file itself is always named
        if number <= _STORED or whole:
            self._open.setdefault(path, []).append(trouble)
        if number > _LISTED and not whole:
            self._report.unlisted += 1
        elif self._is_known(trouble):
            self._report.known_failures.append(trouble)
        else:
            self._report.failures.append(trouble)

    def end(self, path: str, file: FoundFile | None = None) -> None:
        """Note that no more failures come from a file; None for one that was not even found."""
        if path in self._open or path in self._stored:
            self._ended[path] = file

    def save(self, transaction: Transaction) -> None:
        """Bring what ended into the library."""
        failed = [self._failed(path, file) for path, file in self._ended.items()]
        transaction.sources.save_failed([one for one in failed if one.number])
        transaction.sources.forget_failed(one.path for one in failed if not one.number)
        self._ended.clear()

    def sweep(self, store: Store) -> None:
        """Forget files that are gone."""
        gone = [path for path in self._stored if not os.path.lexists(path)]
        if gone:
            with store.writing() as transaction:
                transaction.sources.forget_failed(gone)

    def _is_known(self, trouble: Trouble) -> bool:
        known = self._stored.get(trouble.path)
        if known is None or self._anew:
            return False
        return known.number > len(known.troubles) or trouble in known.troubles

    def _failed(self, path: str, file: FoundFile | None) -> FailedFile:
        """Return what is kept of a file, and drop it here."""
        lasting = file is not None and path not in self._passing
        size, mtime_ns = (file.size, file.mtime_ns) if file and lasting else (UNFINISHED,) * 2
        troubles = tuple(self._open.pop(path, ()))
        number = self._numbers.pop(path, 0)
        return FailedFile(path, size, mtime_ns, self._read_options, troubles, number)
