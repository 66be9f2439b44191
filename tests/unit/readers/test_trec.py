from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lpisearch.model.documents import Document, Problem
from lpisearch.options import ReadOptions
from lpisearch.readers.base import SourceFile
from lpisearch.readers.judgements import QueriesUnreadable, read_queries
from lpisearch.readers.registry import reader_for

if TYPE_CHECKING:
    from pathlib import Path

_AP = """\
<DOC>
<DOCNO> AP880212-0001 </DOCNO>
<HEAD>Boats &amp; ropes</HEAD>
<BYLINE>By ANN</BYLINE>
<TEXT>
   The <F P=105>boat</F> floats.
</TEXT>
<TEXT>
It sails.
</TEXT>
</DOC>
<DOC>
<DOCNO>AP880212-0002</DOCNO>
<DOCTYPE>x</DOCTYPE>
A text without tags of its own.
</DOC>
<DOC>
<DOCNO>3</DOCNO>
</DOC>
"""


def test_documents(tmp_path: Path) -> None:
    """Each element is a document under its number; without a text it is a problem."""
    path = tmp_path / "ap880212"
    path.write_text(_AP, encoding="utf-8")
    source = SourceFile.at(path)
    reader = reader_for(source, ReadOptions())
    assert reader is not None
    assert reader.name == "trec"
    first, second, third = reader.read(source, ReadOptions())
    assert isinstance(first, Document)
    assert (first.id, first.title) == ("AP880212-0001", "Boats & ropes")
    assert first.text == "The boat floats.\n\nIt sails."
    assert first.metadata == {"author": "By ANN"}
    assert isinstance(second, Document)
    assert (second.id, second.text) == ("AP880212-0002", "A text without tags of its own.")
    assert third == Problem("has neither title nor text", "element 3")


_TOPICS = """\
<top>
<head> Tipster Topic Description
<num> Number: 051
<dom> Domain: International Economics
<title> Topic: Airbus
Subsidies

<desc> Description:
Document will discuss subsidies.
<narr> Narrative:
More.
</top>

<top>
<num>052</num>
<desc>Sanctions against
a country</desc>
</top>
"""


def test_topics(tmp_path: Path) -> None:
    """A query of a topic file is its title, or where it has none its description."""
    path = tmp_path / "topics.51-52"
    path.write_text(_TOPICS, encoding="utf-8")
    assert read_queries(path) == [
        ("051", "Airbus Subsidies"),
        ("052", "Sanctions against a country"),
    ]


@pytest.mark.parametrize("content", ["<top>\n</top>\n", "<top>\n<num> 1\n</top>\n", "<top>\n"])
def test_topics_without_a_query(tmp_path: Path, content: str) -> None:
    """A topic without number or text is named by its place."""
    path = tmp_path / "topics"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(QueriesUnreadable, match="topic 1"):
        read_queries(path)
