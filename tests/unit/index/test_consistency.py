"""An index of a stranger, whose checksums agree: shapes, values, and files that are none."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pytest

import lpisearch
from lpisearch.errors import IndexDamaged
from lpisearch.index.consistency import _RULES, misfit, wrong_values
from lpisearch.index.directory import publish_index
from lpisearch.location import index_folder
from lpisearch.storage import open_store
from tests.indexing import open_index

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result

    from lpisearch.index.subspace import SubspaceIndex


@pytest.fixture
def index(indexed: Path) -> SubspaceIndex:
    """Return an index with labels."""
    return open_index(indexed)


def _publish(library: Path, index: SubspaceIndex, **changed: Any) -> None:
    with open_store(library, writable=True) as store:
        publish_index(library, store, replace(index, arrays=index.arrays | changed))


@pytest.mark.parametrize("method", ["rlpi", "lsi", "nmf", "krlpi", "eigenmaps", "spg", "plsi"])
def test_what_the_program_writes_fits(index_shelf: Callable[..., Path], method: str) -> None:
    arrays = open_index(index_shelf(method=method, dims=4)).arrays
    assert (misfit(arrays), wrong_values(arrays)) == ("", "")
    assert len(_RULES.keys() & arrays.keys()) > 20


_ALONE = {  # whose lengths stand nowhere else
    *("terms", "lexicon", "classifier_members", "field_lexicon", "sequence_terms"),
    *("passage_sequence_terms", "plain_spellings", "plain_starts", "written_words"),
}


def test_every_array_is_compared(index: SubspaceIndex) -> None:
    for name in sorted(_RULES.keys() & index.arrays.keys() - _ALONE):
        array = np.array(index.arrays[name])
        wrong = [array[:-1], array[np.newaxis], array.astype("U1")]
        wrong += [array[:, :-1]] if array.ndim > 1 else []
        for other in wrong:
            assert misfit(index.arrays | {name: other}), (name, other.shape)


_WRONG = {
    "vectors": (np.nan, "not finite"),
    "idf": (np.inf, "not finite"),
    "posting_places": (40, "points outside"),
    "lexicon_columns": (-2, "points outside"),
    "posting_starts": (3, "not in order"),
    "strongest_terms": (1 << 20, "points outside"),
    "classifier_members": (99, "points outside"),
    "field_posting_places": (0xFF, "points outside"),
    "sequence_terms": (0xFF, "points outside"),
    "twins": (1 << 20, "points outside"),
    "lexicon": (0xFF, "not UTF-8"),
}


@pytest.mark.parametrize("name", _WRONG)
def test_values_are_found_by_doctor(
    indexed: Path, index: SubspaceIndex, cli: Callable[..., Result], name: str
) -> None:
    array = np.array(index.arrays[name])
    array.reshape(-1)[0], said = _WRONG[name]
    _publish(indexed, index, **{name: array})
    (finding,) = [one for one in lpisearch.open(indexed).examine() if not one.ok]
    assert f"{name} " in finding.detail
    assert said in finding.detail
    if name == "vectors":
        assert json.loads(cli("query", "ship", "--json").stdout, parse_constant=_refuse)


@pytest.mark.parametrize("name", _WRONG)
def test_values_are_found_at_the_first_opening(
    indexed: Path, index: SubspaceIndex, name: str
) -> None:
    array = np.array(index.arrays[name])
    array.reshape(-1)[0] = _WRONG[name][0]
    _publish(indexed, index, **{name: array})
    (verified,) = index_folder(indexed).glob("*/verified.json")
    verified.unlink()  # as on another machine
    with lpisearch.open(indexed) as library:
        assert "damaged" in " ".join(library.search("ship").notes)
        with pytest.raises(IndexDamaged, match=_WRONG[name][1]):
            library.topics()


def test_a_part_of_a_family_is_missing(index: SubspaceIndex) -> None:
    for name in ("field_name_sizes", "plain_starts", "written_words", "sequence_terms",
                 "classifier_svm_intercepts"):  # fmt: skip
        others = {one: array for one, array in index.arrays.items() if one != name}
        assert misfit(others) == f"{name} is missing"


def _refuse(name: str) -> NoReturn:
    raise AssertionError(name)


def test_arrays_that_do_not_fit_are_damage(indexed: Path, index: SubspaceIndex) -> None:
    _publish(indexed, index, loadings=np.array(index.arrays["loadings"])[:, :-1])
    with lpisearch.open(indexed) as library:
        answer = library.search("ship")
        assert (answer.by, len(answer.hits) > 0) == ("lexical", True)
        assert "does not fit the other arrays" in answer.notes[0]
        with pytest.raises(IndexDamaged):
            library.vectors()
        assert [one.ok for one in library.examine()].count(False) == 1


@pytest.mark.timeout(20)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders")
@pytest.mark.parametrize("kind", ["pipe", "zero", "link"])
@pytest.mark.parametrize("name", ["manifest.json", "vectors.npy", "verified.json"])
def test_a_file_that_is_none_is_not_read(
    indexed: Path, tmp_path: Path, name: str, kind: str
) -> None:
    (folder,) = index_folder(indexed).iterdir()
    path = folder / name
    whole = tmp_path / "whole"
    path.rename(whole)
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero" if kind == "zero" else whole)
    with lpisearch.open(indexed) as library:
        answer = library.search("ship")
        assert answer.hits
        harmless = name == "verified.json"
        assert answer.by == ("hybrid" if harmless else "lexical")
        assert all(one.ok for one in library.examine()) == harmless
        assert library.status()["indexes"][0]["state"] in {"ready", "damaged"}
