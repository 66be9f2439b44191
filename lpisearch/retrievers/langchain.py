"""A retriever for LangChain (`pip install langchain-core`)."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, field_validator

from lpisearch.retrievers import CHARACTERS, library_at, retrieved


class LpiSearchRetriever(BaseRetriever):
    """Retrieve passages from a library.

    Parameters
    ----------
    library
        An open library, a path, or the address of a server.
    k
        The number of documents.
    characters
        The most characters of each.
    search
        Other fields of `lpisearch.SearchOptions` and filters, such as `{"by": "semantic"}`.
    """

    library: Any
    k: int = 5
    characters: int = CHARACTERS
    search: dict[str, Any] = Field(default_factory=dict)

    _open = field_validator("library")(library_at)

    def _get_relevant_documents(self, query: str, *, run_manager: Any = None) -> list[Document]:  # noqa: ARG002 (of the base class)
        found = retrieved(
            self.library, query, k=self.k, characters=self.characters, fields=self.search
        )
        return [
            Document(
                id=one.id,
                page_content=one.content,
                metadata={**one.metadata, "id": one.id, "score": one.score},
            )
            for one in found
        ]
