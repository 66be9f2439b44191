"""Files into the library: `lpisearch ingest`, from the paths to the report."""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import PurePath
from typing import TYPE_CHECKING

from lpisearch.errors import BadOption
from lpisearch.indexes.folding import fold_in
from lpisearch.ingest.discovery import Discovery
from lpisearch.ingest.extraction import extract
from lpisearch.ingest.naming import LabelRules, label_file
from lpisearch.ingest.own_files import OwnFiles
from lpisearch.ingest.recording import Recorder, root_of
from lpisearch.ingest.stdin import spooled_input
from lpisearch.ingest.tokeniser import AUTO, Tokenising
from lpisearch.ingest.under_way import UnderWay
from lpisearch.messages import Message, Option
from lpisearch.readers.ocr import is_installed
from lpisearch.readers.registry import reader_named
from lpisearch.readers.streams import EMPTY
from lpisearch.records import Problem, Progress, Trouble
from lpisearch.storage import create_store, index_lock, writer_lock
from lpisearch.terms.languages import TokeniserSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lpisearch.ingest.discovery import FoundFile
    from lpisearch.ingest.extraction import Extracted
    from lpisearch.places import Place
    from lpisearch.records import IngestReport
    from lpisearch.settings import IngestOptions

_IDS = ("file", "global")
_PROGRESS_SECONDS = 0.1


def run_ingest(
    library: Place,
    paths: Sequence[str],
    options: IngestOptions,
    on_progress: Callable[[Progress], None] = lambda _progress: None,
) -> IngestReport:
    """Bring the documents of files and folders into a library; make it if there is none.

    Parameters
    ----------
    library
        The database file.
    paths
        Files, folders, globs, and "-" for standard input.
    options
        How to read, and what to do with what is gone.
    on_progress
        Called several times a second.

    Raises
    ------
    NothingThere, BadOption, LibraryError
        Before anything is read; LibraryUnwritable also later, with finished batches kept.
    """
    begun = time.perf_counter()
    _check(options)
    labels = label_file(options.read)
    label_rules = LabelRules.of(options.read)
    discovery = Discovery(OwnFiles.of(library, [labels] if labels else []), options.find)
    with spooled_input(paths) as piped:
        found = discovery.files(path for path in paths if path != "-")
        # As a walk of all of them would go: no id may depend on which PATH was named first.
        files = [*piped, *sorted(found, key=lambda file: PurePath(file.path).parts)]
        with (
            writer_lock(library, "ingest", options.wait_seconds, roots_of(paths, files)),
            create_store(library) as store,
        ):
            with store.writing() as transaction:
                tokenise = Tokenising(transaction, options.language)
            recorder = Recorder(store, label_rules, tokenise, options)
            recorder.expect(files)
            for trouble in discovery.troubles:
                recorder.fail_unfound(trouble)
            _Reading(recorder, label_rules, UnderWay(store), on_progress).read(files, options)
            recorder.finish(discovery.gone(recorder.known))
            report = recorder.report
            report.notes.extend(tokenise.remarks())
            with index_lock(library, options.wait_seconds):
                complaints, due = fold_in(library, store)
            report.index_notes.extend(complaints)
            report.notes.extend(due)
    report.left_out = dict(discovery.left_out)
    report.seconds = time.perf_counter() - begun
    return report


def roots_of(paths: Sequence[str], files: Sequence[FoundFile]) -> list[str]:
    """Return the files and folders that are ingested, as others may name them."""
    named = [os.path.realpath(path) for path in paths if os.path.exists(path)]  # noqa: PTH110 (a string)
    return list(
        dict.fromkeys([*named, *(os.path.realpath(file.root or file.path) for file in files)])
    )


def _check(options: IngestOptions) -> None:
    """Refuse options that mean nothing, before anything is made."""
    if options.read.format != "auto":
        reader_named(options.read.format)
    if options.ids not in _IDS:
        raise BadOption("ids", f"must be file or global, not “{options.ids}”", _IDS)
    if options.read.ocr and not is_installed():
        raise BadOption("ocr", "Tesseract (for scanned pages) is not installed")
    if options.language != AUTO:
        TokeniserSettings.for_language(options.language)


class _Reading:
    """Passes files to the recorder, and says how far it has come."""

    def __init__(
        self,
        recorder: Recorder,
        label_rules: LabelRules,
        under_way: UnderWay,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._recorder = recorder
        self._label_rules = label_rules
        self._under_way = under_way
        self._on_progress = on_progress
        self._report = recorder.report
        self._skipped: Counter[str] = Counter()
        self._documents = 0
        self._done = 0
        self._total = 0
        self._shown = 0.0

    def read(self, files: Sequence[FoundFile], options: IngestOptions) -> None:
        """Read all files that changed since they were last read to their end."""
        changed = [file for file in files if not self._is_unchanged(file, retry=options.retry)]
        self._total = sum(file.size for file in changed)
        in_order = self._under_way.last(changed)
        for extracted in extract(in_order, options.read, self._under_way.begin):
            self._show(extracted)
            if extracted.source is not None and extracted.reader is None:
                self._pass_over(extracted.file)
            else:
                self._read_file(extracted)
            self._done += extracted.file.size
        self._report.skipped = dict(self._skipped)

    def _is_unchanged(self, file: FoundFile, *, retry: bool) -> bool:
        """Tell whether a file need not be read, and count what is known of it."""
        known = self._recorder.known.get(file.path)
        if known and known.root != root_of(file, known):
            return False
        failures = self._recorder.failures
        if failures.is_settled(file):
            if not retry:
                failures.repeat(file)
                self._recorder.leave(known)
            return not retry
        if known is None or (known.size, known.mtime_ns) != (file.size, file.mtime_ns):
            return False
        if not self._label_rules.is_current(known):
            return False
        self._recorder.leave(known)
        return True

    def _read_file(self, extracted: Extracted) -> None:
        file = extracted.file
        source = self._recorder.source(file, extracted.reader.name if extracted.reader else "")
        many = extracted.reader is not None and extracted.reader.many
        clean = True
        position = 0
        for item in extracted.items:
            if isinstance(item, Problem):
                self._note(file, item)
                clean = clean and item.warning
                position += not item.warning
                continue
            position += 1
            self._recorder.add(source, item, position, many=many)
            self._documents += 1
            self._show(extracted)
            if self._recorder.repeats_itself(source, position):
                self._note(file, Problem(f"gave up at document {position}: duplicate ids"))
                clean = False
                extracted.leave()
                break
        self._recorder.end(source, file, clean=clean)
        self._under_way.end(file)

    def _pass_over(self, file: FoundFile) -> None:
        """Refuse a file of unknown format that was named, count one that was merely found."""
        if file.named:
            unknown = Message(
                "unsupported file type; set ", Option("format"), " if it is a document"
            )
            self._note(file, Problem(unknown if file.size else EMPTY))
            self._recorder.failures.end(file.path, file)
        else:
            self._skipped[PurePath(file.path).suffix.lower() or "no extension"] += 1

    def _note(self, file: FoundFile, problem: Problem) -> None:
        trouble = Trouble(file.path, problem.reason, problem.where)
        if problem.warning:
            self._report.warnings.append(trouble)
        else:
            self._recorder.failures.note(trouble, passing=problem.passing)

    def _show(self, extracted: Extracted) -> None:
        now = time.monotonic()
        if now - self._shown < _PROGRESS_SECONDS:
            return
        self._shown = now
        done = self._done + extracted.consumed()
        self._on_progress(Progress(self._documents, done, self._total))
