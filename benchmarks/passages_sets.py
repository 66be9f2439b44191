"""Test sets of long documents with known answers, from public collections.

* Books: some of the abstracts of med, Cranfield, CISI and CACM are bound together in the order of
  their collection, each a page; the others stay as they are. A book is relevant to a query if one
  of its abstracts is, and that one is the passage that should be shown.
* Questions: lists of frequently asked questions among 20 Newsgroups. A line that is a question is
  taken out wherever it stands, and asked; the document is relevant, and the answer is what stood
  below the line. The other documents are those of 800 words or more, and 4,000 at random.
* Manual: pgdocs as it is, whose judgements are of whole pages.
* Mixed: all English collections of benchmarks/retrieval.py in one library, with the first 100
  queries of each; the long documents are those of pgdocs.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.retrieval import DATA, ENGLISH, judged_of, questions_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    Record = dict[str, Any]
    Span = tuple[int, int]

BOUND = ("med", "cranfield", "cisi", "cacm")
_MOST_QUERIES = 100
_OTHERS = 4000
_MANY_WORDS = 800
_LEAST_LETTERS = 8000
_LEAST_QUESTIONS = 5
_LONGEST_ANSWER = 4000
_QUESTION = re.compile(
    r"[ \t>]*(?:Q:|Q\d+[.:)]?|\(?\d+(?:[.-]\d+)*[.):]*|\[\d+[-.]\d+\]|Subject:|[A-Z]\d+\.)[ \t]*"
    r"(?:\d+(?:[.-]\d+)*[.):]*)?[ \t]*(?P<said>\S.{10,110}\?)[ \t]*"
)


@dataclass(slots=True)
class Asked:
    """One query."""

    collection: str  # it belongs to: tables have a column for each
    text: str  # of the query
    # the ids of relevant documents; of long ones where the answers are, as far as this is known
    relevant: dict[str, list[Span]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LongSet:
    """Documents and queries."""

    name: str
    records: list[Record]
    queries: dict[str, Asked]


def books(name: str, share: float, least: int, most: int) -> LongSet:
    """Bind a share of the abstracts into books of at least and at most so many pages."""
    rng = np.random.default_rng(0)
    records: list[Record] = []
    pages: dict[str, tuple[str, Span | None]] = {}
    for collection in BOUND:
        documents = list(_documents(collection))
        order = rng.permutation(len(documents))
        cut = int(share * len(documents))
        bound = [documents[at] for at in np.sort(order[:cut]).tolist()]
        for document in (documents[at] for at in order[cut:].tolist()):
            document["id"] = f"{collection}/{document['id']}"
            pages[document["id"]] = document["id"], None
            records.append({key: document[key] for key in ("id", "title", "text")})
        while bound:
            size = int(rng.integers(least, most + 1))
            records.append(_bind(f"{collection}/book {len(records)}", bound[:size], pages))
            bound = bound[size:]
    return LongSet(name, records, _asked_of_books(pages))


def _bind(name: str, documents: list[Record], pages: dict[str, tuple[str, Span | None]]) -> Record:
    texts, sections, start = [], [], 0
    collection = name.split("/", maxsplit=1)[0]
    for number, document in enumerate(documents, start=1):
        text = f"{document['title']}\n{document['text']}".strip()
        texts.append(text)
        sections.append({"start": start, "kind": "page", "name": str(number)})
        pages[f"{collection}/{document['id']}"] = name, (start, start + len(text))
        start += len(text) + 2
    return {"id": name, "title": "", "text": "\n\n".join(texts), "sections": sections}


def _asked_of_books(pages: dict[str, tuple[str, Span | None]]) -> dict[str, Asked]:
    queries: dict[str, Asked] = {}
    for collection in BOUND:
        texts = dict(questions_of(collection))
        for query, told in judged_of(collection).items():
            asked = queries[f"{collection}/{query}"] = Asked(collection, texts[query])
            for document in told:
                owner, span = pages[f"{collection}/{document}"]
                asked.relevant.setdefault(owner, []).extend([span] if span else [])
    return queries


def manual() -> LongSet:
    """Take the pages of a manual as they are."""
    texts = dict(questions_of("pgdocs"))
    queries = {
        query: Asked("manual", texts[query], {document: [] for document in told})
        for query, told in judged_of("pgdocs").items()
    }
    records = [{key: each[key] for key in ("id", "title", "text")} for each in _documents("pgdocs")]
    return LongSet("manual", records, queries)


def mixed() -> LongSet:
    """Put the English collections into one library: a manual among short documents."""
    records: list[Record] = []
    queries: dict[str, Asked] = {}
    for collection in ENGLISH:
        for each in _documents(collection):
            each["id"] = f"{collection}/{each['id']}"
            records.append({key: each[key] for key in ("id", "title", "text")})
        texts = dict(questions_of(collection))
        for query, told in list(judged_of(collection).items())[:_MOST_QUERIES]:
            relevant: dict[str, list[Span]] = {f"{collection}/{document}": [] for document in told}
            queries[f"{collection}/{query}"] = Asked(collection, texts[query], relevant)
    return LongSet("mixed", records, queries)


def answers() -> LongSet:
    """Take the questions out of their answers."""
    documents = list(_documents("20newsgroups"))
    said: dict[str, str] = {}
    for document in documents:
        if len(document["text"]) > _LEAST_LETTERS:
            found = [_question(line) for line in document["text"].splitlines()]
            if sum(map(bool, found)) >= _LEAST_QUESTIONS:
                said |= {_letters(each): each for each in filter(None, found)}
    some = set(np.random.default_rng(0).permutation(len(documents))[:_OTHERS].tolist())
    records: list[Record] = []
    queries = {key: Asked("answers", text) for key, text in said.items()}
    for at, document in enumerate(documents):
        if at in some or len(document["text"].split()) > _MANY_WORDS:
            text, spans = _without(document["text"], said)
            records.append({"id": document["id"], "title": "", "text": text})
            for key, span in spans:
                queries[key].relevant.setdefault(document["id"], []).append(span)
    return LongSet("answers", records, {key: one for key, one in queries.items() if one.relevant})


def _without(text: str, said: dict[str, str]) -> tuple[str, list[tuple[str, Span]]]:
    """Return a text without lines that are questions, and what stood below each."""
    kept: list[str] = []
    marks: list[tuple[int, str]] = []
    size = 0
    for line in text.splitlines(keepends=True):
        key = _letters(_question(line))
        if key in said:
            marks.append((size, key))
        else:
            kept.append(line)
            size += len(line)
    spans = [
        (key, (start, min(end, start + _LONGEST_ANSWER)))
        for (start, key), (end, _) in pairwise([*marks, (size, "")])
        if end > start
    ]
    return "".join(kept), spans


def _question(line: str) -> str:
    found = _QUESTION.fullmatch(line.rstrip("\n"))
    return found["said"].strip() if found else ""


def _letters(text: str) -> str:
    return " ".join(re.findall("[a-z]+", text.lower()))


def _documents(name: str) -> Iterator[Record]:
    with gzip.open(DATA / name / "docs.jsonl.gz", "rt", encoding="utf-8") as stream:
        for line in stream:
            yield {"title": "", **json.loads(line)}
