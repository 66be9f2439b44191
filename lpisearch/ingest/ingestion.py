"""Ingest files into a library; the library's tokeniser.

The user fixes the language of a new library, or each document has its own. Then the main language,
of documents too short to tell theirs, is detected in up to 200 documents of the first batch; a
library that began smaller follows most of its documents until it has 200.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from lpisearch.errors import BadOption
from lpisearch.ingest.discovery import DiscoveredFile, Discovery, is_address
from lpisearch.ingest.extraction import Analysed, Extracted, InProgressFiles, Work, extract
from lpisearch.ingest.ignore import OwnFiles
from lpisearch.ingest.inputs import is_spooled, spooled_input
from lpisearch.ingest.moves import gone_paths
from lpisearch.ingest.names import LabelRules, label_file
from lpisearch.ingest.recorder import Recorder, root_of
from lpisearch.messages import Message, Option, call, counted, some
from lpisearch.model.documents import (
    Document,
    DocumentRow,
    DocumentWrite,
    IngestReport,
    Problem,
    Progress,
    Trouble,
    labels_note,
)
from lpisearch.options import MEBIBYTE, IngestOptions
from lpisearch.readers.base import EMPTY, NO_TEXT, Reader
from lpisearch.readers.pdf import is_installed
from lpisearch.readers.registry import option_of, reader_named
from lpisearch.storage import create_store, index_lock, writer_lock
from lpisearch.storage.metadata import TOKENISER
from lpisearch.storage.reading import chunks
from lpisearch.text.languages import AUTO, TokeniserSettings
from lpisearch.text.tokeniser import Tokeniser, analyse
from lpisearch.text.traits import FALLBACK, Evidence, languages, languages_note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lpisearch.location import Location
    from lpisearch.numeric.dask_cluster import Cluster
    from lpisearch.storage.store import Store, Transaction


_IDS = ("file", "global")
_PROGRESS_SECONDS = 0.1
_VACUUM_DOCUMENTS = 1000
_SHARED_BYTES = 4 * MEBIBYTE  # below, to pass on small files takes longer than to read them


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
    LabelRules.of(options.read)  # a label file that cannot be read stops the run before it begins
    gone = gone_paths(library, paths, prune=options.prune)
    paths = [path for path in paths if path not in gone]
    discovery = Discovery(OwnFiles.of(library, [labels] if labels else []), options.find)
    discovery.removed.extend(map(os.path.abspath, gone))
    with spooled_input(paths) as piped:
        discovered = discovery.files(path for path in paths if not is_spooled(path))
        found = list(discovered)
        if not (len(paths) == 1 and Path(paths[0]).is_dir()):  # in the order of a single walk
            found.sort(key=lambda file: file.path.split(os.sep))  # noqa: PTH206 (a Path takes longer)
        files = [*piped, *found]
        with (
            _cluster(options) as cluster,
            writer_lock(library, "ingest", options.wait_seconds, roots_of(paths, files)),
            create_store(library) as store,
        ):
            with store.writing() as transaction:
                tokenise = Tokenising(transaction, options.language)
            recorder = Recorder(store, tokenise, options)
            recorder.expect(files)
            for trouble in discovery.troubles:
                recorder.fail_discovery(trouble)
            reader = _Reader(recorder, InProgressFiles(store), on_progress)
            reader.read(files, options, tokenise, cluster)
            recorder.finish(discovery.gone(recorder.known))
            tokenise.set_language(store, [file.path for file in files])
            tokenise.look_again(store)
            report = recorder.report
            if report.added + report.updated >= _VACUUM_DOCUMENTS:
                store.vacuum()
            report.notes.extend(tokenise.notes())
            report.notes.extend(_skip_notes(recorder.by_option))
            report.notes.extend(_label_notes(recorder.folders.labels, paths))
            if report.labels_removed:
                report.notes.append(labels_note(report.labels_removed))
            with index_lock(library, options.wait_seconds):
                complaints, due = _update_indexes(library, store)
            report.index_notes.extend(complaints)
            report.notes.extend(due)
    report.left_out = dict(discovery.left_out)
    report.seconds = time.perf_counter() - begun
    return report


def _cluster(options: IngestOptions) -> AbstractContextManager[Cluster | None]:
    """Return the cluster whose workers read, if the options name one."""
    if not options.cluster:
        return nullcontext()
    from lpisearch.numeric.dask_cluster import cluster_at

    return cluster_at(options.cluster)


def _update_indexes(library: Location, store: Store) -> tuple[list[str], list[str]]:
    """Add the documents to the indexes, if there are any; return complaints, and what is due."""
    with store.reading() as snapshot:
        if not snapshot.indexes.entries():
            return [], []
    from lpisearch.index.update import add_documents  # takes NumPy

    return add_documents(library, store)


def roots_of(paths: Sequence[str], files: Sequence[DiscoveredFile]) -> list[str]:
    """Return the real paths of the files and folders that are ingested."""
    arguments = [path for path in paths if os.path.exists(path)]  # noqa: PTH110 (a string)
    roots = [file.root or file.path for file in files]
    every = dict.fromkeys(arguments + roots)
    return list(dict.fromkeys(one if is_address(one) else os.path.realpath(one) for one in every))


def _skip_notes(skipped: Mapping[str, int]) -> Iterator[str]:
    """Yield notes on skipped files that an option would read."""
    if number := skipped.get("archives", 0):
        skipped_now = f"{counted(number, 'archive')} skipped; to read the files inside, set "
        yield Message(skipped_now, Option("archives"))
    if number := skipped.get("ocr", 0):
        first = "" if is_installed() else "install Tesseract and "
        skipped_now = f"{counted(number, 'image')} skipped; to read text in images, {first}set "
        yield Message(skipped_now, Option("ocr", "eng"))


def _label_notes(folders: list[str], paths: Sequence[str]) -> Iterator[str]:
    """Yield a note on folders that look like labels."""
    if folders:
        is_path = len(paths) == 1 and not is_address(paths[0])  # which may have a password
        again = call("ingest", paths[0] if is_path else "PATH", labels="folder")
        names = f"Folders may serve as labels ({some(folders)}). Next: "
        yield Message(names, again)


def _check(options: IngestOptions) -> None:
    """Refuse invalid options before anything is created."""
    if options.read.format != "auto":
        reader_named(options.read.format)
    if options.ids not in _IDS:
        raise BadOption("ids", f"must be file or global, not “{options.ids}”", _IDS)
    if options.cluster and options.workers:
        raise BadOption(("cluster", "workers"), "cannot be used together")
    if options.read.ocr and not is_installed():
        raise BadOption("ocr", "Tesseract (for scanned pages) is not installed")
    if options.language != AUTO:
        TokeniserSettings.for_language(options.language)


class _Reader:
    """Passes files to the recorder and reports progress."""

    def __init__(
        self,
        recorder: Recorder,
        in_progress: InProgressFiles,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self._recorder = recorder
        self._in_progress = in_progress
        self._on_progress = on_progress
        self._report = recorder.report
        self._skipped: Counter[str] = Counter()
        self._documents = 0
        self._done = 0
        self._total = 0
        self._shown = 0.0

    def read(
        self,
        files: Sequence[DiscoveredFile],
        options: IngestOptions,
        tokenise: Tokenising,
        cluster: Cluster | None = None,
    ) -> None:
        """Read all files that changed since they were last read completely."""
        changed = [file for file in files if not self._is_unchanged(file, retry=options.retry)]
        self._total = sum(file.size for file in changed)
        in_order = self._in_progress.last(changed)
        rules, known = self._recorder.label_rules, self._recorder.known

        def tokens(file: DiscoveredFile, reader: Reader) -> dict[str, Any] | None:
            # Of a file of many documents, few may be new.
            return None if file.path in known and reader.many else tokenise.request(file.path)

        is_shared = bool(options.workers or cluster) or self._total >= _SHARED_BYTES
        work = Work(options.workers or None, is_shared, tokens, cluster)
        begin, options_at = self._in_progress.begin, lambda root: rules.at(root).options
        for extracted in extract(in_order, options.read, begin, options_at, work):
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
        if known is None or not file.is_as(known):
            return False
        if not self._recorder.label_rules.at(known.root).is_current(known):
            return False
        self._recorder.leave(known, file)
        return True

    def _read_file(self, extracted: Extracted) -> None:
        file = extracted.file
        source = self._recorder.source(file, extracted.reader.name if extracted.reader else "")
        many = extracted.reader is not None and extracted.reader.many
        clean = True
        position = 0
        for item in extracted.items:
            if isinstance(item, Problem) and not position and _is_empty(extracted, item):
                self._report.empty += 1
                continue
            if isinstance(item, Problem):
                self._note(file, item)
                clean = clean and item.warning
                position += not item.warning
                continue
            position += 1
            self._recorder.add(source, item, position, extracted.analysed(), many=many)
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
            self._recorder.by_option[option_of(file.path)] += 1
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


def _is_empty(extracted: Extracted, problem: Problem) -> bool:
    """Tell a file without a byte, or a plain one with white space alone, from a failure."""
    if problem.where or extracted.file.location:
        return False
    plain = extracted.reader is not None and not extracted.reader.isolated
    return problem.reason == EMPTY or (plain and problem.reason == NO_TEXT)


_FIRST_SAMPLE = 200
_LIKELY = TokeniserSettings.mixed(FALLBACK)
_as_dict = cache(TokeniserSettings.as_dict)


class Tokenising:
    """Tokenises documents, each in its language if the library has no language of its own."""

    def __init__(self, transaction: Transaction, language: str = AUTO) -> None:
        self._is_new = transaction.settings.get(TOKENISER) is None
        self._tokeniser: Tokeniser | None = None
        self._stated = ""  # by the user, for all documents of this run
        self._counts: Counter[str] = Counter()
        self._documents = 0
        if not self._is_new or language != AUTO:
            self._tokeniser = library_tokeniser(transaction, "" if language == AUTO else language)
            if self._tokeniser.settings.is_mixed and language != AUTO:
                self._stated = TokeniserSettings.for_language(language).language

    @property
    def is_ready(self) -> bool:
        """Whether the language of the library is known."""
        return self._tokeniser is not None

    def request(self, path: str) -> dict[str, Any]:
        """Return what a worker needs to tokenise a file; for a new library, a likely guess."""
        settings = _as_dict(self._tokeniser.settings if self._tokeniser else _LIKELY)
        return {"path": path, "settings": settings, "language": self._stated}

    def __call__(self, write: DocumentWrite, analysed: Analysed | None = None) -> DocumentWrite:
        """Add its tokens and traits to a document; `see` was called with its batch.

        Those of a worker are taken, unless it guessed another main language.
        """
        if self._tokeniser is None:
            raise RuntimeError("the language must be detected before a document is tokenised")
        if analysed is not None and analysed.settings == _as_dict(self._tokeniser.settings):
            done = write._replace(tokens=analysed.tokens, traits=analysed.traits)
        else:
            done = tokenised(write, self._tokeniser, self._stated)
        self._counts[done.traits.language] += 1
        return done

    def see(self, transaction: Transaction, documents: Sequence[Document]) -> None:
        """Look at a batch before it is written; the first one determines the main language."""
        if self._tokeniser is not None or not documents:
            return
        evidence = Evidence()
        evidence.add(sample(documents, _FIRST_SAMPLE))
        settings = TokeniserSettings.mixed(evidence.language)
        transaction.settings.set(TOKENISER, settings.as_dict())
        self._tokeniser = Tokeniser(settings)

    def set_language(self, store: Store, paths: Iterable[str]) -> None:
        """Give the documents of files the language that the user states, unchanged ones too."""
        if self._tokeniser is None or not self._stated:
            return
        with store.writing() as transaction:
            known = transaction.sources.known()
            sources = [known[path].id for path in paths if path in known]
            keys = [key for one in sources for key in transaction.changes.of_source(one)]
            traits = transaction.documents.traits_of(keys)
            others = [key for key in keys if traits.get(key, ("",))[0] != self._stated]
            if others:
                make_tokens(transaction, self._tokeniser, sorted(others), self._stated)
                store_settings(transaction, self._tokeniser.settings, is_redone=True)

    def look_again(self, store: Store) -> None:
        """Let a small library, of which the first files were few, follow most of its documents.

        Those in its main language, some of them too short to tell theirs, are tokenised again.
        """
        if self._tokeniser is None or self._is_new or self._stated or not self._counts:
            return
        settings = self._tokeniser.settings
        with store.writing() as transaction:
            counts = transaction.documents.languages()
            before = sum(counts.values()) - sum(self._counts.values())
            most = next((name for name in counts if name in languages()), settings.main)
            is_small = settings.is_mixed and before <= _FIRST_SAMPLE
            if not is_small or counts.get(most, 0) <= counts.get(settings.main, 0):
                return
            keys = transaction.documents.in_language(settings.main).tolist()
            self._tokeniser = Tokeniser(TokeniserSettings.mixed(most))
            make_tokens(transaction, self._tokeniser, keys, detect=True)
            store_settings(transaction, self._tokeniser.settings, is_redone=True)

    def notes(self) -> list[str]:
        """Return a note about the detected languages of a new library."""
        detects = self._tokeniser is not None and self._tokeniser.settings.is_mixed
        if not detects or not self._is_new or self._stated or not self._counts:
            return []
        return [languages_note(self._counts)]


def tokenised(write: DocumentWrite, tokeniser: Tokeniser, language: str = "") -> DocumentWrite:
    """Add its tokens and traits to a document; its language is detected if it is not given."""
    tokens, traits = analyse(write.document, write.path, tokeniser, language)
    return write._replace(tokens=tokens, traits=traits)


_AT_ONCE = 1000
_NO_ROW = DocumentRow(0, "", 0, 0, b"")


def make_tokens(
    transaction: Transaction,
    tokeniser: Tokeniser,
    keys: Sequence[int],
    language: str = "",
    *,
    detect: bool = False,
) -> None:
    """Tokenise documents again and store their tokens, all in a language if one is given.

    Otherwise their languages are detected where none is known, or with `detect` for all.
    """
    for part in chunks(keys, _AT_ONCE):
        known = transaction.documents.details(part, 0)
        writes = {}
        for key, document in zip(part, transaction.corpus.load(part), strict=True):
            write = DocumentWrite(_NO_ROW, known[key].path, document)
            own = language or ("" if detect else known[key].language)
            writes[key] = tokenised(write, tokeniser, own)
        transaction.changes.replace_tokens(
            {key: write.tokens for key, write in writes.items()},
            {key: write.traits for key, write in writes.items()},
        )


def store_settings(
    transaction: Transaction, settings: TokeniserSettings, *, is_redone: bool = False
) -> None:
    """Store the settings of the tokeniser; indexes notice if documents have other languages now."""
    redone = (transaction.settings.get(TOKENISER) or {}).get("redone", 0) + is_redone
    counted = {"redone": redone} if redone else {}
    transaction.settings.set(TOKENISER, settings.as_dict() | counted)


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
    if settings.is_mixed:
        return Tokeniser(settings)
    if language and TokeniserSettings.for_language(language).language != settings.language:
        raise LanguageDiffers(settings.language, language)
    return Tokeniser(settings)


class LanguageDiffers(BadOption):
    """The library was tokenised in another language."""

    def __init__(self, current: str, requested: str) -> None:
        super().__init__("language", f"this library is in {current}")
        self.next_step = call("retokenise", language=requested)
