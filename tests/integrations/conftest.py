"""A library of a small corpus, and a collection of ir_datasets that is on this machine."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import lpisearch
from lpisearch.location import shipped_folder
from lpisearch.readers.judgements import read_judgements, read_queries

NAME = "lpisearch-sample"
DOCUMENTS = {
    "sea/1": ("Harbour", "Harbour\nThe ship lies at anchor in the harbour, its sail is torn."),
    "sea/2": ("", "A sailor mends the sail of the old ship before the storm."),
    "sky/1": ("Orbits", "The planet and its moon, seen with a telescope among the stars."),
    "sky/2": ("", "A comet passes the star; the telescope follows its orbit."),
    "food/1": ("Bread", "Flour, yeast and water: the dough rises before the oven is hot."),
    "food/2": ("", "The oven bakes the bread, butter and flour make the cake."),
}
QUERIES = {"1": "torn sail of a ship", "2": "telescope star", "3": "yeast dough"}
QRELS = (("1", "sea/1", 2), ("1", "sea/2", 1), ("2", "sky/2", 1), ("3", "food/1", 1))


class _Doc(NamedTuple):
    doc_id: str
    title: str
    body: str

    def default_text(self) -> str:
        """Return what is searched."""
        return self.body


@pytest.fixture(scope="session")
def collection() -> str:
    """Return the name of a collection that needs no download."""
    ir_datasets = pytest.importorskip("ir_datasets")
    formats = ir_datasets.formats

    class Docs(formats.BaseDocs):  # type: ignore[misc, name-defined]
        def docs_iter(self) -> Iterator[Any]:
            return iter([_Doc(name, *texts) for name, texts in DOCUMENTS.items()])

        def docs_lang(self) -> str:
            return "en"

    class Queries(formats.BaseQueries):  # type: ignore[misc, name-defined]
        def queries_iter(self) -> Iterator[Any]:
            return (formats.GenericQuery(*one) for one in QUERIES.items())

    class Qrels(formats.BaseQrels):  # type: ignore[misc, name-defined]
        def qrels_iter(self) -> Iterator[Any]:
            return (formats.GenericQrel(*one) for one in QRELS)

    class Broken(formats.BaseDocs):  # type: ignore[misc, name-defined]
        def docs_iter(self) -> Iterator[Any]:
            yield _Doc("1", "", "one")
            raise ConnectionError("the network is away")

    for name, parts in {NAME: (Docs(), Queries(), Qrels()), f"{NAME}-broken": (Broken(),)}.items():
        if name not in list(ir_datasets.registry):
            ir_datasets.registry.register(name, ir_datasets.datasets.base.Dataset(*parts))
    return f"irds:{NAME}"


@pytest.fixture(scope="session")
def corpus() -> str:
    """Return the name of the sample corpus as a collection, with its queries and judgements."""
    ir_datasets = pytest.importorskip("ir_datasets")
    formats, name = ir_datasets.formats, f"{NAME}-corpus"
    root = shipped_folder("sample_corpus")

    class Docs(formats.BaseDocs):  # type: ignore[misc, name-defined]
        def docs_iter(self) -> Iterator[Any]:
            for path in sorted((root / "documents").rglob("*.[tm]*")):
                place = path.relative_to(root / "documents").as_posix()
                yield formats.GenericDoc(place, path.read_text(encoding="utf-8"))

    class Queries(formats.BaseQueries):  # type: ignore[misc, name-defined]
        def queries_iter(self) -> Iterator[Any]:
            return (formats.GenericQuery(*one) for one in read_queries(root / "queries.jsonl"))

    class Qrels(formats.BaseQrels):  # type: ignore[misc, name-defined]
        def qrels_iter(self) -> Iterator[Any]:
            for query, grades in read_judgements(root / "qrels.tsv").items():
                yield from (formats.GenericQrel(query, *one) for one in grades.items())

    if name not in list(ir_datasets.registry):
        whole = ir_datasets.datasets.base.Dataset(Docs(), Queries(), Qrels())
        ir_datasets.registry.register(name, whole)
    return f"irds:{name}"


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library of the sample corpus, with an index."""
    path = tmp_path_factory.mktemp("indexed") / "library.db"
    with lpisearch.open(path) as library:
        library.ingest(shipped_folder("sample_corpus") / "documents", labels="folder")
        library.index("rlpi", dims=20)
    return path
