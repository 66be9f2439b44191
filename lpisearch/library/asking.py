"""Search methods of a local library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lpisearch.calls.asking import Questions
from lpisearch.errors import DocumentNotFound
from lpisearch.library.opened import Opened
from lpisearch.records import Classification, Document, Filter
from lpisearch.settings import SearchOptions, TopicOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from lpisearch.records import Answer, DocumentMap, Facets, Mark, Reason, Run, TopicReport
    from lpisearch.settings import ClassifyOptions


class Asking(Opened, Questions):
    """What is asked."""

    def _search(
        self, text: str, wanted: SearchOptions, like: Sequence[str], unlike: Sequence[str]
    ) -> Answer:
        return self._searcher().search(text, wanted, like=like, unlike=unlike)

    def _similar(self, document: str | Document, wanted: SearchOptions, *, files: bool) -> Answer:
        searcher = self._searcher()
        try:
            return searcher.similar(document, wanted)
        except DocumentNotFound:
            if isinstance(document, Document) or not files:
                raise
        from lpisearch.ingest.inputs import first_document

        return searcher.similar(first_document(document), wanted)

    def _batch(
        self,
        queries: Iterable[tuple[str, str]],
        wanted: SearchOptions,
        on_note: Callable[[str], None],
    ) -> Generator[Run, None, None]:
        return self._searcher().batch(queries, wanted, on_note=on_note)

    def reason(
        self,
        text: str,
        document: str,
        *,
        options: SearchOptions | None = None,
        like: Sequence[str] = (),
        unlike: Sequence[str] = (),
    ) -> Reason:
        """Say why a search finds a document where it does: its score as an exact sum.

        Examples
        --------
        >>> reason = library.reason("letter", "first.txt", options=SearchOptions(by="lexical"))
        >>> [leg.name for leg in reason.legs]
        ['words']
        """
        chosen = options or SearchOptions()
        return self._searcher().reason(text, document, chosen, like=like, unlike=unlike)

    def marks(
        self, text: str, *parts: str, options: SearchOptions | None = None
    ) -> list[tuple[Mark, ...]]:
        """Return where words of a query, and near words, are in each of some texts.

        Examples
        --------
        >>> [(mark.start, mark.end) for mark in library.marks("letters", "a letter")[0]]
        [(2, 8)]
        """
        return self._searcher().marks(text, parts, options or SearchOptions())

    def facets(self, where: Filter | None = None) -> Facets:
        """Count documents by label, split, folder, format and date.

        Parameters
        ----------
        where
            Only those that pass it.

        Examples
        --------
        >>> [(each.name, each.count) for each in library.facets().formats]
        [('text/plain', 2)]
        """
        return self._searcher().facets(where or Filter())

    def _classify(self, what: str | Path, options: ClassifyOptions) -> Classification:
        from lpisearch.search.classifying import TextClassifier

        if isinstance(what, Path):
            return next(self.classify_each([str(what)], options))
        return TextClassifier(self._session, options).text(what)

    def classify_each(
        self, arguments: Sequence[str], options: ClassifyOptions
    ) -> Iterator[Classification]:
        """Judge what the arguments mean: files that exist (and "-"), or else one text.

        Yields
        ------
        Classification
            One for the text, or one for each document of the files.
        """
        from lpisearch.ingest.inputs import name_files, read_inputs
        from lpisearch.search.classifying import TextClassifier

        judge = TextClassifier(self._session, options)
        if not name_files(arguments):
            yield judge.text(" ".join(arguments))
            return
        read = read_inputs(arguments)
        yield from judge.each((each.name, each.document, each.reason) for each in read)

    def topics(
        self,
        number: int | None = None,
        *,
        terms: int = 8,
        documents: int = 3,
        seed: int = 0,
        index: str = "default",
        on_stage: Callable[[str], None] = lambda _name: None,
    ) -> TopicReport:
        """Find what the library is about: clusters of documents in the subspace.

        Parameters
        ----------
        number
            Of topics; None reads it off the spectrum of the index.
        terms, documents
            How many of each to show for a topic.
        seed
            Of every random choice.
        index
            The name of the index.
        on_stage
            Called with the name of each stage as it begins.

        Examples
        --------
        >>> report = library.topics()
        >>> report.topics[0].terms[:3]
        ('star', 'telescope', 'sun')
        """
        from lpisearch.search.topics import find_topics

        options = TopicOptions(number, terms, documents, seed, index)
        return find_topics(self._session, options, on_stage)

    def map(
        self,
        projection: str = "neighbours",
        *,
        number: int | None = None,
        seed: int = 0,
        index: str = "default",
        previous: DocumentMap | None = None,
    ) -> DocumentMap:
        """Place all documents in a plane, with their topics and labels.

        Parameters
        ----------
        projection
            "neighbours" keeps near documents together; "plane" is a linear projection.
        number
            Of topics; None reads it off the spectrum of the index.
        seed
            Of every random choice.
        index
            The name of the index.
        previous
            A map that was drawn before: where the index is the same, so are the places, and only
            labels and titles are read anew.

        Examples
        --------
        >>> drawn = library.map("plane")
        >>> drawn.places.shape == (len(drawn.ids), 2)
        True
        """
        from lpisearch.search.mapping import map_documents

        options = TopicOptions(number, seed=seed, index=index)
        return map_documents(self._session, options, projection, previous)
