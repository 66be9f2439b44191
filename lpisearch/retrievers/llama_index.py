"""A retriever for LlamaIndex (`pip install llama-index-core`)."""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from lpisearch.retrievers import CHARACTERS, Place, library_at, retrieved


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
    **search
        Other fields of `lpisearch.SearchOptions` and filters, such as `by="semantic"`.
    """

    def __init__(
        self, library: Place, k: int = 5, characters: int = CHARACTERS, **search: Any
    ) -> None:
        super().__init__()
        self._library, self._k, self._characters = library_at(library), k, characters
        self._search = search

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = retrieved(
            self._library,
            query_bundle.query_str,
            k=self._k,
            characters=self._characters,
            fields=self._search,
        )
        return [
            NodeWithScore(
                node=TextNode(id_=one.id, text=one.content, metadata=one.metadata), score=one.score
            )
            for one in found
        ]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)
