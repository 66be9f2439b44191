"""A retriever for Haystack (`pip install haystack-ai`)."""

from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict

from lpisearch.retrievers import CHARACTERS, Place, address_of, library_at, retrieved


@component
class LpiSearchRetriever:
    """Retrieve passages from a library, as a component of a pipeline.

    Parameters
    ----------
    library
        An open library, a path, or the address of a server; a saved pipeline has the latter two.
    top_k
        The number of documents.
    characters
        The most characters of each.
    search
        Other fields of `lpisearch.SearchOptions` and filters, such as `{"by": "semantic"}`.
    """

    def __init__(
        self,
        library: Place,
        top_k: int = 5,
        characters: int = CHARACTERS,
        search: dict[str, Any] | None = None,
    ) -> None:
        self._library, self.top_k, self.characters = library_at(library), top_k, characters
        self.search = search or {}

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None) -> dict[str, Any]:
        """Return the documents found."""
        k = self.top_k if top_k is None else top_k
        found = retrieved(self._library, query, k=k, characters=self.characters, fields=self.search)
        return {
            "documents": [
                Document(id=one.id, content=one.content, meta=one.metadata, score=one.score)
                for one in found
            ]
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the component as Haystack saves it."""
        own = {"top_k": self.top_k, "characters": self.characters, "search": self.search}
        saved: dict[str, Any] = default_to_dict(self, library=address_of(self._library), **own)
        return saved

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "LpiSearchRetriever":
        """Make the component that was saved."""
        made: LpiSearchRetriever = default_from_dict(cls, data)
        return made
