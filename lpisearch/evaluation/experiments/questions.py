"""Load queries and relevance judgements, and report mismatches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lpisearch.errors import NothingToEvaluate
from lpisearch.messages import Message, call
from lpisearch.readers.judgements import Judgements, read_judgements
from lpisearch.readers.queries import read_queries
from lpisearch.records.trec import named
from lpisearch.wording import are, counted, some

if TYPE_CHECKING:
    from lpisearch.indexes.session import Session
    from lpisearch.settings import RetrievalOptions


@dataclass(frozen=True, slots=True)
class Questions:
    """Queries with their judgements, and what does not fit together.

    Attributes
    ----------
    queries
        The judged ones, as (id, text).
    judgements
        By query.
    unjudged
        Queries of the file without a relevant document.
    missing_queries
        Judged queries that the file lacks.
    missing_documents
        Judged documents that the library lacks.
    """

    queries: list[tuple[str, str]]
    judgements: Judgements
    unjudged: tuple[str, ...]
    missing_queries: tuple[str, ...]
    missing_documents: tuple[str, ...]

    @property
    def notes(self) -> list[str]:
        """Say it for people."""
        found = []
        if self.unjudged:
            number = are(len(self.unjudged), "query", "queries")
            found.append(f"{number} without a relevant document (skipped): {some(self.unjudged)}.")
        if self.missing_queries:
            number = are(len(self.missing_queries), "judged query", "judged queries")
            found.append(f"{number} not in the query file: {some(self.missing_queries)}.")
        if self.missing_documents:
            number = are(len(self.missing_documents), "judged document")
            listed = some(self.missing_documents)
            found.append(f"{number} not in the library (counted as missed): {listed}.")
        return found


def read_questions(session: Session, wanted: RetrievalOptions) -> Questions:
    """Read queries and judgements, and find what does not fit.

    Raises
    ------
    QueriesUnreadable, JudgementsUnreadable, NothingToEvaluate, LibraryError
    """
    queries = read_queries(wanted.queries)
    with session.reading() as snapshot:
        known = set(snapshot.documents.ids().values())
    asked = {name for name, _ in queries}
    judgements = {
        named(query, asked): {named(document, known): grade for document, grade in own.items()}
        for query, own in read_judgements(wanted.qrels).items()
    }
    relevant = {query for query, own in judgements.items() if max(own.values()) > 0}
    judged = {document for own in judgements.values() for document in own}
    questions = Questions(
        queries=[query for query in queries if query[0] in relevant],
        judgements={query: own for query, own in judgements.items() if query in relevant & asked},
        unjudged=tuple(name for name, _ in queries if name not in relevant),
        missing_queries=tuple(sorted(relevant - asked)),
        missing_documents=tuple(sorted(judged - known)),
    )
    if not questions.queries:
        raise NothingToEvaluate(
            f"{wanted.qrels} lists no relevant document for any of "
            f"{counted(len(queries), 'query', 'queries')}.",
            "check that both files use the same query ids",
        )
    if judged.isdisjoint(known):
        raise NothingToEvaluate(
            f"None of {counted(len(judged), 'judged document')} is in the library.",
            Message(call("entries"), "  (lists the ids that judgements must use)"),
        )
    return questions
