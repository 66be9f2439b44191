"""Questions to a library by its path, for tests that ask one or two."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from lpisearch.library import Library
from lpisearch.model.answers import Answer, Run, TopicReport
from lpisearch.model.documents import Document
from lpisearch.options import ClassifyOptions, SearchOptions, TopicOptions
from lpisearch.search.batch import answer_batch
from lpisearch.search.classification import TextClassifier
from lpisearch.search.session import Session
from lpisearch.search.topics import find_topics as topics_of

DEFAULTS = SearchOptions()


def run_search(library: Path, text: str, options: SearchOptions = DEFAULTS) -> Answer:
    """Answer one query."""
    with Library(library) as opened:
        return opened.search(text, options=options)


def run_feedback(
    library: Path,
    text: str,
    like: Sequence[str],
    unlike: Sequence[str],
    options: SearchOptions = DEFAULTS,
) -> Answer:
    """Answer a query moved by documents."""
    with Library(library) as opened:
        return opened.search(text, options=options, like=like, unlike=unlike)


def run_similar(
    library: Path, document: str | Document, options: SearchOptions = DEFAULTS
) -> Answer:
    """Find what is like a document."""
    with Library(library) as opened:
        return opened.similar(document, options=options, files=False)


def run_batch(
    library: Path, queries: Iterable[tuple[str, str]], options: SearchOptions = DEFAULTS
) -> Iterator[Run]:
    """Answer many queries."""
    with Session(library) as session:
        yield from answer_batch(session, queries, options)


def find_topics(library: Path, options: TopicOptions | None = None) -> TopicReport:
    """Cluster the documents."""
    with Session(library) as session:
        return topics_of(session, options or TopicOptions())


def judge_of(library: Path, options: ClassifyOptions | None = None) -> TextClassifier:
    """Return the judge of an index; it needs the library no longer."""
    with Session(library) as session:
        return TextClassifier(session, options or ClassifyOptions())
