"""Which documents are licences, change logs and generated files, and which only look like it."""

import pytest

from lpisearch.model.documents import CHANGES, GENERATED, LICENCE, Document
from lpisearch.text.kinds import kind_of, kinds_named

VERSIONS = "Version 1.2\n- mended\n\n1.1\n- more\n\n* 1.0.0 (2024-05-01)\n- first\n"
PROSE = "A history of the harbour.\nIt was built in 1.5 years.\n"


@pytest.mark.parametrize(
    ("path", "title", "text", "kind", "reason"),
    [
        ("/a/LICENSE", "", "Do as you like.", LICENCE, "it is named LICENSE"),
        ("/a/license.html", "", "x", LICENCE, "it is named license.html"),
        ("/a/LICENSE-MIT.txt", "", "x", LICENCE, "it is named LICENSE-MIT.txt"),
        ("/doc/tar/copyright", "", "x", LICENCE, "it is named copyright"),
        ("/a/COPYING.LESSER", "", "x", LICENCE, "it is named COPYING.LESSER"),
        ("/a/GPL-3.0", "", "x", LICENCE, "it is named GPL-3.0"),
        (
            "/a/terms.txt",
            "",
            "   GNU GENERAL PUBLIC LICENSE\n   Version 3",
            LICENCE,
            "it begins with “GNU GENERAL PUBLIC LICENSE”",
        ),
        ("/a/license.py", "", "x = 1", "", ""),
        ("/a/licensing.html", "Licensing", "How to buy one.", "", ""),
        ("/a/notes.txt", "", "I read the Apache License today.", "", ""),
        ("/a/ChangeLog", "", "x", CHANGES, "it is named ChangeLog"),
        ("/a/changelog.Debian.gz", "", "x", CHANGES, "it is named changelog.Debian.gz"),
        ("/a/RELEASE-NOTES.md", "", "x", CHANGES, "it is named RELEASE-NOTES.md"),
        (
            "/a/NEWS",
            "",
            VERSIONS,
            CHANGES,
            "it is named NEWS, and lines begin with versions or dates",
        ),
        (
            "/a/r.html",
            "E.2. Release Notes",
            VERSIONS,
            CHANGES,
            "its title is “E.2. Release Notes”, and lines begin with versions or dates",
        ),
        ("/a/history.txt", "", PROSE, "", ""),
        ("/a/changes.py", "", "x = 1", "", ""),
        ("/a/climate-changes.txt", "", PROSE, "", ""),
        ("/d/searchindex.js", "", "x", GENERATED, "it is named searchindex.js"),
        ("/d/search-index-2.json", "", "x", GENERATED, "it is named search-index-2.json"),
        ("/d/genindex-A.html", "Index", "x", GENERATED, "it is named genindex-A.html"),
        ("/d/style.min.css", "", "x", GENERATED, "it is named style.min.css"),
        ("/d/package-lock.json", "", "x", GENERATED, "it is named package-lock.json"),
        (
            "/d/app.js",
            "",
            "f();" * 2000,
            GENERATED,
            "its lines have 8,000 characters on average",
        ),
        ("/d/app.js", "", "f();\n" * 2000, "", ""),
        ("/d/one-paragraph.txt", "", "word " * 2000, "", ""),
        ("/d/search.html", "Search", "How to search.", "", ""),
    ],
)
def test_kinds(path: str, title: str, text: str, kind: str, reason: str) -> None:
    assert kind_of(path, Document(title, text)) == (kind, reason)


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ("Licence of the fonts", {LICENCE}),
        ("gpl-3 or LGPL", {LICENCE}),
        ("changelog tar", {CHANGES}),
        ("what's new in 1.2", {CHANGES}),
        ("style.min.css", {GENERATED}),
        ("searchindex.js", {GENERATED}),
        ("how to exchange a wheel", set()),
        ("newsagents in Leeds", set()),
    ],
)
def test_a_query_may_name_a_kind(query: str, kinds: set[str]) -> None:
    assert kinds_named(query) == kinds
