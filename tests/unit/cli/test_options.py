"""An option is one field: the command line, the HTTP API and the settings derive from it."""

from dataclasses import dataclass
from inspect import signature
from typing import Annotated, Any, get_args

import pytest
import typer
from typer.testing import CliRunner

from lpisearch.cli import options as typed
from lpisearch.cli.options import accepts, only, without
from lpisearch.config import keys_of
from lpisearch.errors import BadOption
from lpisearch.model.documents import Filter
from lpisearch.model.fields import build, fields_of, option
from lpisearch.options import IndexOptions, IngestOptions, SearchOptions, TopicOptions
from lpisearch.web.api.endpoint import described, params_of


@dataclass(frozen=True, slots=True)
class _More(SearchOptions):
    """Search options with one more."""

    half_life: int = option(
        30, "Halve the score every N days.", metavar="N", minimum=1, panel="Ranking", setting=True
    )


_seen: list[Any] = []
_app = typer.Typer(rich_markup_mode=None)


@_app.command()
@accepts()
def _search(text: str, options: _More) -> None:
    _seen.append((text, options))


def test_a_field_is_an_option_of_every_face() -> None:
    run = CliRunner().invoke
    shown = " ".join(run(_app, ["--help"], terminal_width=200).stdout.split())
    assert "Halve the score every N days." in shown
    assert run(_app, ["bread", "--half-life", "7", "--label", "sea"]).exit_code == 0
    assert _seen == [("bread", _More(half_life=7, where=Filter(("sea",))))]
    assert run(_app, ["bread", "--half-life", "0"]).exit_code == 2
    (param,) = [one for one in params_of(_More) if one.name == "half_life"]
    assert described(param) == {
        "name": "half_life",
        "in": "query",
        "required": False,
        "description": "Halve the score every N days.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 2**53 - 1, "default": 30},
    }
    key = keys_of(_More)["half_life"]
    assert (key.kind, key.default, key.help) == ("a whole number", 30, param.means + ".")
    assert "half_life" not in keys_of(SearchOptions)


def _names(verb: Any) -> list[str]:
    return list(signature(verb).parameters)


def test_a_verb_chooses_and_orders_its_options() -> None:
    @accepts("retry", "ids")
    def verb(
        ids: Annotated[str, typer.Option()],
        topics: Annotated[TopicOptions, only("terms", "seed")],
        options: Annotated[IngestOptions, without("format", "labels")],
    ) -> None:
        del ids, topics, options

    names = _names(verb)
    assert names[:2] == ["terms", "seed"]
    assert names[-2:] == ["retry", "ids"]
    assert not {"format", "labels", "documents", "batch_documents"} & set(names)
    assert signature(verb).parameters["max_document_bytes"].default == 32
    flags, _ = get_args(signature(verb).parameters["follow_links"].annotation), None
    assert flags[1].default == "--follow-links"


def test_nested_options_are_built_in_place() -> None:
    options = build(IngestOptions, {"labels": "folder", "hidden": True, "prune": True})
    assert (options.read.labels, options.find.hidden, options.prune) == ("folder", True, True)
    assert "media_type" in {one.name for one in fields_of(SearchOptions)}
    assert "labels" in (IndexOptions.__doc__ or "")


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("dims", "auto", None),
        ("dims", "12", 12),
        ("alpha", "1e-3", 0.001),
        ("memory", "1.5g", 1_500_000_000),
        ("memory", None, None),
        ("settings", ["a=1", "b = x"], {"a": "1", "b": "x"}),
        ("dims", "many", "must be auto or a number, not “many”"),
        ("memory", "4X", "“4X” is not a size such as 500M or 4G"),
        ("settings", ["a"], "“a” is not NAME=VALUE"),
        ("settings", ["a=1", "a=2"], "a is set twice"),
    ],
)
def test_texts_of_an_index_are_read(field: str, text: Any, value: Any) -> None:
    (one,) = [one for one in fields_of(IndexOptions) if one.name == field]
    if not isinstance(value, str):
        assert typed._form(one).read(one, text) == value
        return
    with pytest.raises(BadOption, match=value) as refused:
        typed._form(one).read(one, text)
    assert tuple(refused.value.fields) == (field,)
