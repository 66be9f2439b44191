"""Methods without a linear map in a library: the same commands, the same promises."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from lpisearch.errors import BadOption, SubspaceError
from lpisearch.index.build import build_index
from lpisearch.methods.catalogue import CATALOGUE
from lpisearch.options import IndexOptions, SearchOptions, TopicOptions
from lpisearch.search.engine import Engine
from lpisearch.text.vocabulary import count_terms
from tests.indexing import open_index
from tests.methods import EMBEDDINGS
from tests.searching import find_topics, judge_of, run_search, run_similar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Built = Callable[..., Path]

every_embedding = pytest.mark.parametrize("method", EMBEDDINGS)


@pytest.fixture
def built(index_shelf: Callable[..., Path]) -> Callable[..., Path]:
    """Return a maker of the library of records with an index by some method."""
    return lambda method, **options: index_shelf(method=method, neighbours=5, **options)


def stored_tokens(sql: Callable[..., list[Any]], row: int) -> str:
    """Return the tokens of a document."""
    stored = "SELECT plain_tokens(tokens) FROM document_tokens WHERE document_id = ?"
    return str(sql(stored, row)[0][0])


@every_embedding
def test_an_index_places_its_documents_again_where_they_are(
    built: Built, sql: Callable[..., list[Any]], method: str
) -> None:
    index = open_index(built(method, dims=4))
    assert index.manifest.placement == EMBEDDINGS[method].placement
    assert not index.is_linear
    assert "loadings" not in index.arrays
    np.testing.assert_allclose(np.linalg.norm(index.vectors, axis=1), 1, atol=1e-5)
    tokens = [stored_tokens(sql, row) for row in index.contents]
    counts = count_terms([tokens], index.vocabulary).matrix
    np.testing.assert_allclose(index.project(counts), index.vectors, atol=1e-3)


@every_embedding
def test_a_query_lies_where_a_document_with_its_words_does(built: Built, method: str) -> None:
    index = open_index(built(method, dims=4))
    engine = Engine(index)
    for words in ("ship boat", "moon", "violin letter letter", "unheard of"):
        document = index.project(count_terms([[words]], index.vocabulary).matrix)[0]
        np.testing.assert_allclose(engine.look_up(words.split()).vector, document, atol=1e-5)


@every_embedding
def test_queries_find_their_topic(built: Built, method: str) -> None:
    library = built(method, dims=4)
    for by in ("semantic", "hybrid"):
        hits = run_search(library, "ship anchor tide", SearchOptions(by=by, k=5)).hits
        assert [hit.id.partition("/")[0] for hit in hits] == ["sea"] * 5
    like = run_similar(library, "music/3", SearchOptions(by="semantic", k=5)).hits
    assert [hit.id.partition("/")[0] for hit in like] == ["music"] * 5


@every_embedding
def test_a_document_without_the_words_shows_its_nearest_passage(
    built: Built, put: Callable[..., Any], method: str
) -> None:
    library = built(method, dims=4)
    put([{"id": "new", "text": "letter paper " * 20 + "harbour boat mast rope cargo " * 12}], "new")
    hits = run_search(library, "anchor tide", SearchOptions(by="semantic", k=50)).hits
    (new,) = [hit for hit in hits if hit.id == "new"]
    assert new.snippet.text
    assert new.snippet.marks == ()


@every_embedding
def test_new_documents_are_placed_by_the_rule(
    built: Built, put: Callable[..., Any], method: str
) -> None:
    library = built(method, dims=4)
    before = open_index(library)
    new = [
        {"id": "new/sea", "text": "harbour boat xyzzy tide"},
        {"id": "new/none", "text": "unheard of"},
    ]
    assert put(new, name="new").index_notes == []
    after = open_index(library)
    np.testing.assert_array_equal(after.vectors[:40], before.vectors)
    assert after.manifest.placement == before.manifest.placement
    for name, array in before.arrays.items():
        if name.startswith("placement_"):
            np.testing.assert_array_equal(after.arrays[name], array)
    assert not after.vectors[41].any()
    nearest = np.argsort(-(before.vectors @ after.vectors[40]))[:3]
    assert (nearest % 4 == 0).all()  # the records on the sea
    assert after.manifest.folded == {"documents": 2, "words": 5, "unknown": 2}


@every_embedding
def test_topics_and_labels(built: Built, method: str) -> None:
    library = built(method, dims=4)
    report = find_topics(library, TopicOptions(4))
    assert report.purity is not None
    assert report.purity > 0.9
    assert find_topics(library).chosen
    found = judge_of(library).text("ship anchor tide wave")
    assert found.labels[0].label == "sea"


@every_embedding
def test_a_cosine_is_not_explained(built: Built, method: str) -> None:
    library = built(method, dims=4)
    with pytest.raises(SubspaceError) as raised:
        run_search(library, "ship", SearchOptions(explain=True))
    assert str(raised.value) == (
        f"{method} is not linear, so its cosines cannot be broken down by word. "
        'Next: library.index(method="rlpi")'
    )


@every_embedding
def test_the_same_index_bit_for_bit(built: Built, method: str) -> None:
    library = built(method)
    first = {name: np.array(array) for name, array in open_index(library).arrays.items()}
    build_index(library, IndexOptions(method=method, neighbours=5))
    second = open_index(library).arrays
    assert first.keys() == second.keys()
    for name, array in first.items():
        np.testing.assert_array_equal(second[name], array)


@every_embedding
def test_a_query_imports_no_heavy_library(built: Built, method: str) -> None:
    code = (
        "import sys, lpisearch; "
        f"hit = lpisearch.open({str(built(method, dims=4))!r}).search('ship')[0]; "
        "assert hit.cosine; print({'scipy', 'sklearn', 'alembic'} & set(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"


def test_options_that_a_method_has_not_are_refused(shelf: Path) -> None:
    with pytest.raises(BadOption, match="eigenmaps does not use alpha"):
        build_index(shelf, IndexOptions(method="eigenmaps", alpha=1.0))
    with pytest.raises(BadOption, match="did you mean eigenmaps"):
        build_index(shelf, IndexOptions(method="eigenmap"))
    build_index(shelf, IndexOptions(method="krlpi", alpha=0.5, labels="use"))
    index = open_index(shelf)
    assert index.manifest.result.alpha == 0.5
    assert index.manifest.result.dims == 3


@pytest.mark.parametrize(
    ("method", "n", "dims"),
    [
        ("rlpi", 1000, "auto"),
        ("eigenmaps", 1000, "auto"),
        ("krlpi", 1000, "auto"),
        ("lsi", 1000, 150),
        ("lsi", 40, 39),
        ("plsi", 1000, 100),
        ("plsi", 40_000, 150),
        ("nmf", 40, 4),
        ("nmf", 10, 2),
        ("nmf", 2, 1),
    ],
)
def test_how_many_dimensions_a_method_gets(method: str, n: int, dims: int | str) -> None:
    assert CATALOGUE[method].usual_dimensions(n) == dims
