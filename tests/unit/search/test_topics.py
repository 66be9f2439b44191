from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import lpisearch
from lpisearch.errors import BadOption, IndexNotFound
from lpisearch.index.build import build_index
from lpisearch.model.answers import TopicReport
from lpisearch.numeric.kmeans import normalised_information, purity
from lpisearch.numeric.rows import PackedRows
from lpisearch.options import IndexOptions, TopicOptions
from tests.searching import find_topics

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lpisearch.model.documents import IngestReport


def test_planted_topics(indexed: Path) -> None:
    """Records on four topics come out as these four, with nothing else in them."""
    report = find_topics(indexed, TopicOptions(4))
    assert [topic.size for topic in report.topics] == [10, 10, 10, 10]
    assert [topic.number for topic in report.topics] == [1, 2, 3, 4]
    assert report.purity == pytest.approx(1)
    assert report.nmi == pytest.approx(1)
    assert (report.documents, report.unplaced, report.chosen) == (40, 0, False)
    for topic in report.topics:
        (only,) = topic.labels
        assert only.share == 1
        assert all(document.id.startswith(f"{only.label}/") for document in topic.documents)


def test_terms_are_words_of_the_topic(indexed: Path, records: list[dict[str, Any]]) -> None:
    words = {
        label: {
            word for each in records if each["labels"] == [label] for word in each["text"].split()
        }
        for label in {each["labels"][0] for each in records}
    }
    common = set.intersection(*words.values())
    for topic in find_topics(indexed, TopicOptions(4, terms=5)).topics:
        assert len(topic.terms) == 5
        assert set(topic.terms) <= words[topic.labels[0].label] - common


def test_the_sample_corpus(sample: Path) -> None:
    report = find_topics(sample)
    assert report.chosen
    assert len(report.topics) == 8
    assert report.purity is not None
    assert report.nmi is not None
    assert report.purity > 0.85
    assert report.nmi > 0.8
    assert len({topic.labels[0].label for topic in report.topics}) == 8
    assert sum(topic.size for topic in report.topics) == report.documents
    sizes = [topic.size for topic in report.topics]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.usefixtures("own_sample")
def test_terms_are_readable(library: Path) -> None:
    terms = {term for topic in find_topics(library).topics for term in topic.terms}
    assert terms & {"bicycle", "bicycles", "locomotive", "locomotives"}
    assert not terms & {"bicycl", "locomot", "telescop"}


@pytest.mark.usefixtures("own_sample")
@pytest.mark.parametrize("method", ["rlpi", "olpi", "lpi", "lsi"])
def test_any_method(library: Path, method: str) -> None:
    """Each method has topics that agree with the labels far better than chance."""
    build_index(library, IndexOptions(method=method))
    asked = find_topics(library, TopicOptions(8))
    assert asked.nmi is not None
    assert asked.nmi > 0.5
    assert 3 <= len(find_topics(library).topics) <= 12


def test_typical_documents_come_nearest_first(indexed: Path) -> None:
    for topic in find_topics(indexed, TopicOptions(4, documents=5)).topics:
        cosines = [document.cosine for document in topic.documents]
        assert len(cosines) == 5
        assert cosines == sorted(cosines, reverse=True)
        assert 0 < cosines[-1] <= cosines[0] <= 1


def test_the_same_seed(indexed: Path) -> None:
    assert find_topics(indexed, TopicOptions(7, seed=5)) == find_topics(
        indexed, TopicOptions(7, seed=5)
    )


def test_nothing_but_numbers(indexed: Path) -> None:
    report = find_topics(indexed, TopicOptions(2, terms=0, documents=0))
    assert not any(topic.terms or topic.documents for topic in report.topics)


def test_documents_without_known_words(
    put: Callable[..., IngestReport], records: list[dict[str, Any]], library: Path
) -> None:
    put([*records, {"id": "empty", "text": "!?", "labels": ["x"]}, {"id": "stop", "text": "the"}])
    build_index(library, IndexOptions())
    report = find_topics(library, TopicOptions(4))
    assert (report.documents, report.unplaced) == (42, 2)
    assert sum(topic.size for topic in report.topics) == 40
    assert "x" not in {label.label for topic in report.topics for label in topic.labels}


def test_without_labels(
    put: Callable[..., IngestReport], records: list[Any], library: Path
) -> None:
    """Nothing is compared where there is nothing to compare with."""
    put([{"id": each["id"], "text": each["text"]} for each in records])
    build_index(library, IndexOptions())
    report = find_topics(library, TopicOptions(4))
    assert (report.purity, report.nmi) == (None, None)
    assert all(topic.labels == () for topic in report.topics)


def test_documents_with_several_labels(
    put: Callable[..., IngestReport], records: list[dict[str, Any]], library: Path
) -> None:
    put([each | {"labels": [*each["labels"], "all"]} for each in records])
    build_index(library, IndexOptions())
    report = find_topics(library, TopicOptions(4))
    assert all({label.share for label in topic.labels} == {1} for topic in report.topics)
    assert all(len(topic.labels) == 2 for topic in report.topics)
    assert report.purity is None


def test_documents_deleted_since(indexed: Path) -> None:
    before = find_topics(indexed, TopicOptions(4))
    gone = before.topics[0].documents[0].id
    lpisearch.open(indexed).delete(gone)
    after = find_topics(indexed, TopicOptions(4))
    shown = [document.id for topic in after.topics for document in topic.documents]
    assert gone not in shown
    assert len(shown) == 12


def test_a_handful_of_documents(put: Callable[..., IngestReport], library: Path) -> None:
    texts = ("ship sea wave", "ship sea sail", "bread oven", "bread oven flour")
    put([{"id": str(number), "text": text} for number, text in enumerate(texts)])
    build_index(library, IndexOptions(method="lsi"))
    assert [topic.size for topic in lpisearch.open(library).topics(2).topics] == [2, 2]
    assert sum(topic.size for topic in find_topics(library).topics) == 4


def test_equal_documents(put: Callable[..., IngestReport], library: Path) -> None:
    """Documents that do not differ are one topic, however many are asked for."""
    put([{"id": str(n), "text": "ship sea" if n < 8 else "bread oven"} for n in range(12)])
    build_index(library, IndexOptions())
    assert [topic.size for topic in find_topics(library, TopicOptions(5)).topics] == [8, 4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (TopicOptions(0), "must be at least 1, not 0"),
        (TopicOptions(-3), "must be at least 1, not -3"),
        (
            TopicOptions(41),
            "41 topics need at least as many documents with known words; there are 40",
        ),
        (TopicOptions(terms=-1), "must be 0 or more"),
        (TopicOptions(documents=-1), "must be 0 or more"),
    ],
)
def test_options_that_cannot_work(indexed: Path, options: TopicOptions, message: str) -> None:
    with pytest.raises(BadOption, match=message):
        find_topics(indexed, options)


def test_as_many_topics_as_documents(indexed: Path) -> None:
    assert len(find_topics(indexed, TopicOptions(40)).topics) == 40


def test_no_index(shelf: Path) -> None:
    """Without an index, the command that builds one is named."""
    with pytest.raises(IndexNotFound) as caught:
        find_topics(shelf)
    assert caught.value.next_step == "library.index()"


def test_python(indexed: Path) -> None:
    """The library gives the same report."""
    found = lpisearch.open(indexed).topics(4, terms=2)
    assert isinstance(found, TopicReport)
    assert found == find_topics(indexed, TopicOptions(4, terms=2))


@pytest.mark.data
def test_tdt2(data: Path) -> None:
    """On tdt2, 30 clusters in RLPI's leading 29 dimensions agree with the 30 classes."""
    from scipy.sparse import csr_array

    from lpisearch.methods.rlpi import RLPI
    from lpisearch.numeric.rows import unit_rows
    from lpisearch.search import topics

    stored = np.load(data / "tdt2" / "tdt2.npz")
    parts = (stored["data"].astype(np.float32), stored["indices"], stored["indptr"])
    X = unit_rows(csr_array(parts, shape=tuple(stored["shape"])))
    vectors = RLPI(60, n_neighbors=7, alpha=0.1).fit(X).embed(X).astype(np.float32)
    labels = np.unique(stored["label"].ravel(), return_inverse=True)[1]
    found = topics.cluster(PackedRows(vectors), 30, 29, seed=0)
    table = np.zeros((30, 30))
    np.add.at(table, (found.assignments, labels), 1)
    pure, information = purity(table), normalised_information(table)
    assert pure > 0.9
    assert information > 0.8
