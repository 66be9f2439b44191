"""Ingest files into a library; the library's tokeniser.

The language is fixed once: by the user, or detected in the first batch of the first ingest. Up to
200 documents of that batch are sampled, and 50 of each later one, so that a library of several
languages can be described.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import PurePath
from typing import TYPE_CHECKING

from lpisearch.errors import BadOption
from lpisearch.index.update import add_documents
from lpisearch.ingest.discovery import DiscoveredFile, Discovery
from lpisearch.ingest.extraction import Extracted, InProgressFiles, extract
from lpisearch.ingest.ignore import OwnFiles
from lpisearch.ingest.inputs import spooled_input
from lpisearch.ingest.names import LabelRules, label_file
from lpisearch.ingest.recorder import Recorder, root_of
from lpisearch.messages import Message, Option, call
from lpisearch.model.documents import Document, IngestReport, Problem, Progress, Trouble
from lpisearch.readers.pdf import is_installed
from lpisearch.readers.registry import reader_named
from lpisearch.readers.streams import EMPTY
from lpisearch.storage import create_store, index_lock, writer_lock
from lpisearch.storage.metadata import TOKENISER
from lpisearch.text.languages import FALLBACK, Evidence, TokeniserSettings
from lpisearch.text.tokeniser import Tokeniser, document_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lpisearch.location import Location
    from lpisearch.options import IngestOptions
    from lpisearch.storage.store import Transaction


_IDS = ("file", "global")
_PROGRESS_SECONDS = 0.1


def run_ingest(
    library: Location,
    paths: Sequence[str],
    options: IngestOptions,
    on_progress: Callable[[Progress], None] = lambda _progress: None,
) -> IngestReport:
    """Add the documents of files and folders to a library; create it if necessary."""
    begun = time.perf_counter()
    _check(options)
    labels = label_file(options.read)
    label_rules = LabelRules.of(options.read)
    discovery = Discovery(OwnFiles.of(library, [labels] if labels else []), options.find)
    with spooled_input(paths) as piped:
        discovered = discovery.files(path for path in paths if path != "-")
        # In the order of a single walk: ids must not depend on the order of the arguments.
        files = [*piped, *sorted(discovered, key=lambda file: PurePath(file.path).parts)]
        with (
            writer_lock(library, "ingest", options.wait_seconds, roots_of(paths, files)),
            create_store(library) as store,
        ):
            with store.writing() as transaction:
                tokenise = Tokenising(transaction, options.language)
            recorder = Recorder(store, label_rules, tokenise, options)
            recorder.expect(files)
            for trouble in discovery.troubles:
                recorder.fail_discovery(trouble)
            _Reader(recorder, label_rules, InProgressFiles(store), on_progress).read(files, options)
            recorder.finish(discovery.gone(recorder.known))
            report = recorder.report
            report.notes.extend(tokenise.notes())
            with index_lock(library, options.wait_seconds):
                complaints, due = add_documents(library, store)
            report.index_notes.extend(complaints)
            report.notes.extend(due)
    report.left_out = dict(discovery.left_out)
    report.seconds = time.perf_counter() - begun
    return report


def roots_of(paths: Sequence[str], files: Sequence[DiscoveredFile]) -> list[str]:
    """Return the real paths of the files and folders that are ingested."""
    arguments = [path for path in paths if os.path.exists(path)]  # noqa: PTH110 (a string)
    roots = [file.root or file.path for file in files]
    return list(dict.fromkeys(map(os.path.realpath, arguments + roots)))


def _check(options: IngestOptions) -> None:
    """Refuse invalid options before anything is created."""
    if options.read.format != "auto":
        reader_named(options.read.format)
    if options.ids not in _IDS:
        raise BadOption("ids", f"must be file or global, not “{options.ids}”", _IDS)
    if options.read.ocr and not is_installed():
        raise BadOption("ocr", "Tesseract (for scanned pages) is not installed")
    if options.language != AUTO:
        TokeniserSettings.for_language(options.language)


class _Reader:
    """Passes files to the recorder and reports progress."""

    def __init__(
        self,
        recorder: Recorder,
        label_rules: LabelRules,
        in_progress: InProgressFiles,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._recorder = recorder
        self._label_rules = label_rules
        self._in_progress = in_progress
        self._on_progress = on_progress
        self._report = recorder.report
        self._skipped: Counter[str] = Counter()
        self._documents = 0
        self._done = 0
        self._total = 0
        self._shown = 0.0

    def read(self, files: Sequence[DiscoveredFile], options: IngestOptions) -> None:
        """Read all files that changed since they were last read completely."""
        changed = [file for file in files if not self._is_unchanged(file, retry=options.retry)]
        self._total = sum(file.size for file in changed)
        in_order = self._in_progress.last(changed)
        for extracted in extract(in_order, options.read, self._in_progress.begin):
            self._show(extracted)
            if extracted.source is not None and extracted.reader is None:
                self._skip(extracted.file)
            else:
                self._read_file(extracted)
            self._done += extracted.file.size
        self._report.skipped = dict(self._skipped)

    def _is_unchanged(self, file: DiscoveredFile, *, retry: bool) -> bool:
        """Tell whether a file need not be read; if so, count its known documents."""
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
        self._in_progress.end(file)

    def _skip(self, file: DiscoveredFile) -> None:
        """Report a file of unknown format if the user named it; otherwise count it."""
        if file.named:
            unknown = Message(
                "unsupported file type; set ", Option("format"), " if it is a document"
            )
            self._note(file, Problem(unknown if file.size else EMPTY))
            self._recorder.failures.end(file.path, file)
        else:
            self._skipped[PurePath(file.path).suffix.lower() or "no extension"] += 1

    def _note(self, file: DiscoveredFile, problem: Problem) -> None:
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


AUTO = "auto"
_FIRST_SAMPLE = 200
_LATER_SAMPLE = 50


class Tokenising:
    """Tokenises documents; detects the language of a new library."""

    def __init__(self, transaction: Transaction, language: str = AUTO) -> None:
        chosen = "" if language == AUTO else language
        self._tokeniser: Tokeniser | None = None
        self._detects = not chosen and transaction.settings.get(TOKENISER) is None
        self._evidence = Evidence()
        if not self._detects:
            self._tokeniser = library_tokeniser(transaction, chosen)

    def __call__(self, document: Document) -> str:
        """Return the tokens of a document; `see` was called with its batch."""
        if self._tokeniser is None:
            raise RuntimeError("the language must be detected before a document is tokenised")
        return document_tokens(self._tokeniser, document)

    def see(self, transaction: Transaction, documents: Sequence[Document]) -> None:
        """Sample a batch before it is written; the first one determines the language."""
        if not self._detects or not documents:
            return
        first = self._tokeniser is None
        self._evidence.add(sample(documents, _FIRST_SAMPLE if first else _LATER_SAMPLE))
        if first:
            self._tokeniser = library_tokeniser(transaction, self._evidence.language)

    def notes(self) -> list[str]:
        """Return notes for the user about the detected language."""
        if not self._detects or self._tokeniser is None:
            return []
        used = self._tokeniser.settings.language
        notes: list[str] = [self._evidence.describe(used)]
        most = self._evidence.language
        if most != used:
            notes.append(
                Message(f"Most documents are in {most}. Next: ", call("retokenise", language=most))
            )
        return notes


def sample(documents: Sequence[Document], number: int) -> Iterator[str]:
    """Yield the texts of some documents, evenly spread."""
    step = max(len(documents) / number, 1.0)
    for at in range(min(number, len(documents))):
        document = documents[int(at * step)]
        yield f"{document.title}\n{document.text}"


def library_tokeniser(transaction: Transaction, language: str = "") -> Tokeniser:
    """Return the tokeniser of a library; store its language if it has none yet."""
    stored = transaction.settings.get(TOKENISER)
    if stored is None:
        settings = TokeniserSettings.for_language(language or FALLBACK)
        transaction.settings.set(TOKENISER, settings.as_dict())
        return Tokeniser(settings)
    settings = TokeniserSettings.from_dict(stored)
    if language and TokeniserSettings.for_language(language).language != settings.language:
        raise LanguageDiffers(settings.language, language)
    return Tokeniser(settings)


class LanguageDiffers(BadOption):
    """The library was tokenised in another language."""

    def __init__(self, current: str, requested: str) -> None:
        super().__init__("language", f"this library is in {current}")
        self.next_step = call("retokenise", language=requested)
