"""PyTerrier transformers over a library: retrieve, re-rank, expand queries, and give vectors.

They need `pip install 'lpisearch[ir]'`, and no Java. Documents are known by their ids, as `docno`:
`lpisearch.terrier.Retriever("notes.db", by="lexical").search("letter")` is a data frame.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Unpack

try:
    import pandas as pd
    import pyterrier as pt
except ImportError as error:
    from lpisearch.errors import PackageMissing

    raise PackageMissing("lpisearch.terrier", "PyTerrier", "ir") from error

import numpy as np

from lpisearch.errors import SubspaceError
from lpisearch.options import SearchFields, SearchOptions, search_options
from lpisearch.retrievers import Place, library_at

if TYPE_CHECKING:
    from numpy.typing import NDArray


_RESULTS = 1000


class _OfLibrary(pt.Transformer):
    """A transformer that holds a library: an open one, a path, or the address of a server."""

    def __init__(self, library: Place) -> None:
        super().__init__()
        self.library = library_at(library)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.library!r})"


class _Ranking(_OfLibrary):
    """Scores the documents of a library for queries."""

    def __init__(self, library: Place, options: SearchOptions) -> None:
        super().__init__(library)
        self.options = options

    def runs(self, queries: pd.DataFrame, options: SearchOptions) -> dict[str, dict[str, float]]:
        """Return the scores of the documents of each query, best first."""
        texts = [(str(row.qid), str(row.query)) for row in queries.itertuples()]
        return {qid: dict(hits) for qid, hits in self.library.batch(texts, options=options)}


class Retriever(_Ranking):
    """Retrieve documents for queries: (qid, query) to (qid, query, docno, score, rank).

    Parameters
    ----------
    library
        An open library, a path, or the address of a server.
    **fields
        Fields of `lpisearch.SearchOptions`, and filters, such as `by="semantic"`; `k` is 1,000.
    """

    def __init__(self, library: Place, **fields: Unpack[SearchFields]) -> None:
        super().__init__(library, search_options(SearchOptions(k=_RESULTS), fields))

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the documents of each query, best first."""
        pt.validate.query_frame(inp, extra_columns=["query"])
        of_documents = ["docno", "docid", "score", "rank", "text"]
        queries = inp.drop(columns=of_documents, errors="ignore").drop_duplicates("qid")
        rows = [
            (qid, name, score, pt.model.FIRST_RANK + rank)
            for qid, hits in self.runs(queries, self.options).items()
            for rank, (name, score) in enumerate(hits.items())
        ]
        found = pd.DataFrame(rows, columns=["qid", "docno", "score", "rank"])
        kinds = {"qid": object, "docno": object, "score": float, "rank": int}
        ranked: pd.DataFrame = queries.astype({"qid": object}).merge(found.astype(kinds), on="qid")
        return ranked


class Reranker(_Ranking):
    """Rank documents again that another transformer retrieved.

    A document that the query does not reach has the score 0 by words; by meaning and in hybrid
    ranking it comes last, as documents do that are not in the index.
    """

    def __init__(self, library: Place, **fields: Unpack[SearchFields]) -> None:
        super().__init__(library, search_options(None, fields))

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the documents with new scores and ranks."""
        pt.validate.result_frame(inp, extra_columns=["query"])
        every = search_options(self.options, {"k": max(len(self.library), 1)})
        runs = self.runs(inp[["qid", "query"]].drop_duplicates("qid"), every)
        below = {
            qid: 0.0 if self.options.by == "lexical" else min(hits.values(), default=1.0) - 1
            for qid, hits in runs.items()
        }
        pairs = zip(inp["qid"].astype(str), inp["docno"], strict=True)
        scores = [runs[qid].get(name, below[qid]) for qid, name in pairs]
        scored = inp.assign(score=np.array(scores, float))
        order = scored.sort_values(["qid", "score"], ascending=[True, False], kind="stable")
        ranks = order.groupby("qid", sort=False).cumcount() + pt.model.FIRST_RANK
        ranked: pd.DataFrame = order.assign(rank=ranks).reset_index(drop=True)
        return ranked


class Expander(_OfLibrary):
    """Add to each query the words that are nearest to it in the subspace.

    The original is kept as `query_0`. The method of the index must be linear.
    """

    def __init__(self, library: Place, words: int = 5, index: str = "default") -> None:
        super().__init__(library)
        self.words, self.index = words, index

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the queries, each with its related words."""
        pt.validate.columns(inp, includes=["qid", "query"])
        pushed: pd.DataFrame = pt.model.push_queries(inp, keep_original=True)
        return pushed.assign(query=[self._expanded(text) for text in inp["query"]])

    def _expanded(self, text: str) -> str:
        near = self.library.related_words(text, self.words, index=self.index)
        return " ".join([text, *(word for word, _ in near)])


class QueryVectors(_OfLibrary):
    """Add the vectors of queries, of unit length, as `query_vec`; 0 without a known word."""

    def __init__(self, library: Place, index: str = "default") -> None:
        super().__init__(library)
        self.index = index

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the frame with a vector for each query."""
        pt.validate.columns(inp, includes=["query"])
        known = {text: self._vector(text) for text in inp["query"].unique()}
        return inp.assign(query_vec=pd.Series([known[text] for text in inp["query"]], inp.index))

    def _vector(self, text: str) -> NDArray[np.float32]:
        try:
            return self.library.vector(text, index=self.index)
        except SubspaceError:
            return np.zeros(self.library.vectors(self.index)[1].shape[1], np.float32)


class DocumentVectors(_OfLibrary):
    """Add the vectors of documents, of unit length, as `doc_vec`; 0 of those not in the index.

    All vectors are read once, when they are first needed.
    """

    def __init__(self, library: Place, index: str = "default") -> None:
        super().__init__(library)
        self.index = index

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Return the frame with a vector for each document."""
        pt.validate.columns(inp, includes=["docno"])
        rows, vectors = self._vectors
        nothing = np.zeros(vectors.shape[1], np.float32)
        own = [vectors[rows[name]] if name in rows else nothing for name in inp["docno"]]
        return inp.assign(doc_vec=pd.Series(own, inp.index, dtype=object))

    @cached_property
    def _vectors(self) -> tuple[dict[str, int], NDArray[np.float32]]:
        ids, vectors = self.library.vectors(self.index)
        return {name: row for row, name in enumerate(ids)}, vectors
