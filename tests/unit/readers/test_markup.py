from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from lpisearch.errors import ReaderError
from lpisearch.readers.xml import (
    TextFlow,
    attribute,
    iso_date,
    local_name,
    parse_xml,
    stated,
    texts_by_name,
    walk,
)

_LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))


@pytest.mark.parametrize(
    "prolog",
    [
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]>',
        '<!DOCTYPE a [<!ENTITY x "text">]>',
        '<!DOCTYPE a [<!ENTITY % p SYSTEM "http://localhost/x.dtd"> %p;]>',
        f'<!DOCTYPE a [<!ENTITY l0 "ha">{_LAUGHS}]>',
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_any_entity_declaration_is_refused(prolog: str, encoding: str) -> None:
    data = f'<?xml version="1.0" encoding="{encoding}"?>{prolog}<a>&x;</a>'.encode(encoding)
    with pytest.raises(ReaderError, match=r"declares XML entities in “a[.]xml”"):
        parse_xml(data, "a.xml")


def test_document_type_without_entities_is_accepted() -> None:
    data = b'<!DOCTYPE a PUBLIC "-//X//Y" "http://localhost/none.dtd"><a>text</a>'
    assert parse_xml(data, "a.xml").text == "text"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<a>",
        b"<a></b>",
        b"\xff\xfe\xff",
        b"<a>&none;</a>",
        b'<?xml version="1.0" encoding="no-such"?><a/>',
    ],
)
def test_broken_xml_is_stated(data: bytes) -> None:
    with pytest.raises(ReaderError, match=r"is damaged: “a[.]xml” is not valid XML"):
        parse_xml(data, "a.xml")


def test_names_are_compared_without_namespace() -> None:
    root = parse_xml(b'<x:a xmlns:x="urn:x" x:k="v" l="w"/>', "a.xml")
    assert local_name(root) == "a"
    assert (attribute(root, "k"), attribute(root, "l"), attribute(root, "m")) == ("v", "w", "")


def test_walk_gives_starts_and_ends_in_order() -> None:
    root = ET.fromstring("<a><b><c/></b><skip><d/></skip><e/></a>")  # noqa: S314 - our own bytes
    events = [f"{event[0]}{name}" for event, name, _ in walk(root, {"skip"})]
    assert events == ["sa", "sb", "sc", "ec", "eb", "eskip", "se", "ee", "ea"]


def test_flow_joins_blocks_and_drops_empty_ones() -> None:
    flow = TextFlow()
    flow.open()
    flow.open()
    flow.add(" one ")
    assert flow.close("") == "one"
    flow.open()
    assert flow.close("") == ""
    flow.add("two")
    assert flow.close("|", around="*") == "one|two"
    flow.add("three")
    assert flow.text == "*one|two*\n\nthree"


def test_headings_of_a_flow_are_sections() -> None:
    flow = TextFlow()
    for words in ("cell", "One", "text", "Two"):
        flow.open()
        flow.open()
        flow.add(words)
        if words == "cell":
            flow.note_heading(flow.close(""))
            flow.close("")
            continue
        flow.close("")
        text = flow.close("")
        if words != "text":
            flow.note_heading(text)
    assert flow.heading == "cell"
    assert [one.name for one in flow.sections] == ["One", "Two"]
    assert [flow.text[one.start :].split("\n")[0] for one in flow.sections] == ["One", "Two"]


def test_stated_facts_are_picked_by_name() -> None:
    facts = texts_by_name(ET.fromstring("<m><b>2</b><c> 3 </c><c>4</c><d/></m>"))  # noqa: S314 - our own bytes
    assert facts == {"b": ["2"], "c": ["3", "4"]}
    assert stated(facts, {"x": "a | b | c", "y": "c", "z": "d"}) == {"x": "2", "y": "3, 4"}


def test_first_fact_that_is_a_date_counts() -> None:
    facts = {"created": ["in spring"], "modified": ["2010-03-04T05:06:07Z"], "read": ["2011"]}
    assert iso_date(facts, "published", "created", "modified", "read") == "2010-03-04T05:06:07Z"
    assert iso_date(facts, "created") == ""
