"""What an index was asked for is kept whole: in JSON, in the command that builds it, in use."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import lpisearch
from lpisearch.cli.app import app
from lpisearch.cli.output import render_message
from lpisearch.errors import BadOption
from lpisearch.index import plan as index_plan
from lpisearch.index.build import build_index
from lpisearch.index.directory import rebuild_command
from lpisearch.model.documents import Filter, as_conditions, read_conditions
from lpisearch.model.reports import BuiltIndex
from lpisearch.options import IndexOptions, IndexSpec
from lpisearch.storage.metadata import IndexEntry
from tests.indexing import open_index

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result

# What a command line can hold: no NUL, and no half of a surrogate pair.
_words = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=12)
_some = _words.filter(bool)
_keys = _words | st.sampled_from(["label", "path", "split", "since", '"', '"a"', "a=b", 'a"=b'])
_filters = st.builds(
    Filter,
    labels=st.lists(_some, max_size=3).map(tuple),
    path=_words,
    split=_words,
    since=_words,
    until=_words,
    metadata=st.lists(st.tuples(_keys, _words), max_size=3).map(tuple),
)
_numbers = st.floats(0, 1e30, allow_subnormal=True)
_specs = st.builds(
    IndexSpec,
    name=_some,
    method=_some,
    dims=st.none() | st.integers(1, 10**6),
    alpha=st.none() | _numbers,
    neighbours=st.integers(1, 10**6),
    graph=_words,
    radius=st.none() | _numbers,
    labels=_words,
    weighting=_words,
    train=_words,
    where=_filters,
    seed=st.integers(0, 2**32 - 1),
)
_EVERYTHING = Filter(("sea", "sky"), "s*", "train", "2024", "2025-06", (("path", "a=b"),))


@given(_specs)
def test_any_spec_comes_back_from_json(spec: IndexSpec) -> None:
    text = json.dumps(spec.as_dict())
    assert IndexSpec.from_dict(json.loads(text)) == spec
    assert IndexOptions.from_dict(json.loads(text)).spec == spec


@given(_filters)
@example(_EVERYTHING)
def test_any_filter_comes_back_from_its_conditions(where: Filter) -> None:
    assert read_conditions(as_conditions(where)) == where


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_specs)
def test_the_command_builds_what_was_asked_for(
    monkeypatch: pytest.MonkeyPatch, spec: IndexSpec
) -> None:
    asked: list[IndexSpec] = []

    def plan(_library: Path, options: IndexOptions) -> None:
        asked.append(options.spec)
        raise BadOption("name", "seen")

    monkeypatch.setattr(index_plan, "plan_index", plan)
    CliRunner().invoke(app, shlex.split(render_message(rebuild_command(spec)))[1:])
    assert asked == [spec]


def test_what_is_missing_or_unknown_is_passed_over() -> None:
    earlier = {"method": "lsi", "dims": 2, "where": {"labels": ["sea"], "path": ""}}
    expected = IndexSpec(method="lsi", dims=2, where=Filter(labels=("sea",)))
    assert IndexSpec.from_dict(earlier) == expected
    later: dict[str, Any] = earlier | {"colour": "blue", "wait_seconds": 3.0}
    later["where"] = later["where"] | {"moon": "full"}
    assert IndexSpec.from_dict(later) == expected
    assert IndexSpec.from_dict({}) == IndexSpec.from_dict({"where": None}) == IndexSpec()
    entry = IndexEntry("wet", "lsi", {}, "", "", "")
    assert entry.spec == IndexSpec(name="wet", method="lsi")


@given(
    st.builds(
        BuiltIndex,
        dims=st.integers(0),
        alpha=st.none() | _numbers,
        documents=st.integers(0),
        components=st.none() | st.integers(0),
        unknown_rate=st.floats(0, 1),
        classifier=st.none() | st.dictionaries(st.text(), st.integers() | st.text()),
        notes=st.lists(st.text()),
    )
)
def test_what_was_built_comes_back_from_json(built: BuiltIndex) -> None:
    values = json.loads(json.dumps(built.as_dict()))
    assert BuiltIndex.from_dict(values | {"moon": "full"}) == built
    assert BuiltIndex.from_dict({}) == BuiltIndex()


@pytest.fixture
def dated(put: Callable[..., Any], records: list[dict[str, Any]], library: Path) -> Path:
    """Return a library of documents of three years by two authors."""
    put(
        [
            record | {"date": f"{2022 + number % 3}-05-01", "author": "ab"[number // 4 % 2]}
            for number, record in enumerate(records)
        ]
    )
    return library


@pytest.mark.parametrize(
    ("where", "conditions"),
    [
        (Filter(since="2024"), ["since=2024"]),
        (Filter(until="2022"), ["until=2022"]),
        (Filter(metadata=(("author", "a"),)), ["author=a"]),
        (
            Filter(("sea", "sky"), "*/*", "", "2023", "", (("author", "b"),)),
            ["label=sea", "label=sky", "path=*/*", "since=2023", "author=b"],
        ),
    ],
)
def test_an_index_stays_as_narrow_as_it_was_asked_for(
    dated: Path,
    put: Callable[..., Any],
    cli: Callable[..., Result],
    where: Filter,
    conditions: list[str],
) -> None:
    words = [word for condition in conditions for word in ("--where", condition)]
    done = cli("index", "--method", "lsi", "--dims", "2", *words, "--json")
    assert done.exit_code == 0, done.stderr
    number = json.loads(done.stdout)["documents"]
    assert 2 < number < 40
    (state,) = lpisearch.open(dated).status()["indexes"]
    assert (state["state"], state["documents"]) == ("ready", number)
    assert shlex.split(render_message(state["rebuild_command"]))[6:] == words
    folder = state["folder"]
    put([{"id": "other", "text": "ship boat", "labels": ["music"], "date": "2023-02-01"}], "other")
    index = open_index(dated)
    assert index.manifest.spec.where == where
    assert len(index.vectors) == number
    (state,) = lpisearch.open(dated).status()["indexes"]
    assert (state["state"], state["folder"]) == ("ready", folder)


def test_a_build_takes_options_of_python(dated: Path) -> None:
    where = Filter(since="2024", metadata=(("author", "a"),))
    report = build_index(dated, IndexOptions(method="lsi", dims=2, where=where))
    assert report.documents == 7
    assert open_index(dated).manifest.spec.where == where


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["sea"], "“sea” is not KEY=VALUE"),
        (["=sea"], "“=sea” is not KEY=VALUE"),
        (["since="], "since= has no value"),
        (["since=2024", "since=2025"], "since is given more than once"),
    ],
)
def test_conditions_that_say_nothing_are_refused(words: list[str], reason: str) -> None:
    with pytest.raises(BadOption, match=reason):
        read_conditions(words)


def test_a_field_called_like_a_condition_stands_in_quotation_marks() -> None:
    assert read_conditions(['"path"=x', "path=y"]) == Filter(path="y", metadata=(("path", "x"),))
    assert read_conditions(['"path=x']).metadata == (('"path', "x"),)
