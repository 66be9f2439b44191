"""What holds for a library, open here or served elsewhere."""

import asyncio
import inspect
import io
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lpisearch
from lpisearch import (
    BadOption,
    CategoriesOptions,
    DimensionOptions,
    DocumentNotFound,
    EvaluateOptions,
    Filter,
    IndexNotFound,
    Library,
    SearchOptions,
)
from lpisearch.options import ServeSettings
from lpisearch.remote.client import RemoteLibrary
from tests.serving import served

Any_ = Library | RemoteLibrary

_NOT_SERVED: dict[str, tuple[str, ...]] = {
    "back_up": (),
    "upgrade": (),
    "schema_differences": (),
    "retokenise": (),
    "evaluating": (),
    "is_source": ("a.txt",),
    "original": ("a.pdf",),
    "vector": ("a text",),
    "related_words": ("a text",),
}
_ASKED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ship harbour", {}),
    ("morning -bread", {"k": 3, "by": "lexical", "facets": True}),
    ("star telescope", {"by": "semantic", "explain": True, "sort": "title"}),
    ("shipp", {"label": ["sea", "sky"]}),
    ("ship", {"path": "sea", "collapse": False, "split": "train"}),
    ("ship", {"since": "2000", "until": "2100", "path": ""}),
    ("letter", {"like": ["sea/0"], "unlike": ["kitchen/1"]}),
    ("", {}),
)


@pytest.fixture
def here(built: Path, tmp_path: Path) -> Iterator[Library]:
    """Open a copy of it."""
    shutil.copytree(built, tmp_path / "copy")
    with lpisearch.open(tmp_path / "copy" / "library.db") as library:
        yield library


@pytest.fixture
def there(here: Library) -> Iterator[RemoteLibrary]:
    """Serve it, and reach it."""
    assert isinstance(here.path, Path)
    settings = ServeSettings(roots=(here.path.parent,))
    with served(here, settings) as url, lpisearch.connect(url) as library:
        yield library


@pytest.fixture(params=["open", "connect"])
def library(request: pytest.FixtureRequest) -> Any_:
    """Return the library, by either way."""
    name = {"open": "here", "connect": "there"}[request.param]
    found: Any_ = request.getfixturevalue(name)
    return found


def test_both_answer_the_same(here: Library, there: RemoteLibrary) -> None:
    for text, given in _ASKED:
        ours, theirs = here.search(text, **given), there.search(text, **given)
        if given.get("explain"):  # the sum over all pairs is not sent
            assert [hit.explanation and hit.explanation.pairs for hit in ours] == [
                hit.explanation and hit.explanation.pairs for hit in theirs
            ]
        else:
            assert theirs == ours
    assert there.similar("sea/0", k=4) == here.similar("sea/0", k=4)
    assert there.listing(limit=7, offset=3, sort="id") == here.listing(limit=7, offset=3, sort="id")
    assert there.facets(Filter(split="test")) == here.facets(Filter(split="test"))
    assert there.topics(3) == here.topics(3)
    assert there.plan() == here.plan()
    assert there.marks("ship", "a ship and a boat") == here.marks("ship", "a ship and a boat")
    why, told = here.reason("ship", "sea/0"), there.reason("ship", "sea/0")
    assert (why.legs, why.score) == (told.legs, told.score)
    drawn, sent = here.map("plane"), there.map("plane")
    assert (sent.ids, sent.report) == (drawn.ids, drawn.report)
    assert np.array_equal(sent.places, drawn.places)
    assert there.examine() == here.examine()
    assert list(there) == list(here)
    assert here.status().items() <= there.status().items()
    options = DimensionOptions("spca", dims=2)
    assert there.dimensions(options) == here.dimensions(options)


def test_questions(library: Any_) -> None:
    """A search, what is like a document, a text or a file, and many questions at once."""
    assert library.search("harbour anchor", k=1)[0].labels == ("sea",)
    assert library.query is not None
    assert library.similar("sea/0", k=1)[0].labels == ("sea",)
    text = lpisearch.Document("", "star planet moon comet orbit")
    assert library.similar(text, k=1)[0].labels == ("sky",)
    options = SearchOptions(k=2, where=Filter(labels=("music",)))
    runs = list(library.batch([("1", "violin tune"), ("2", "ship")], options=options))
    assert [name for name, _ in runs] == ["1", "2"]
    assert all(document.startswith("music/") for _, hits in runs for document, _ in hits)


def test_files_of_this_machine(library: Any_, tmp_path: Path) -> None:
    file = tmp_path / "note.txt"
    file.write_text("oven flour butter sugar cake", encoding="utf-8")
    assert library.similar(file, k=1)[0].labels == ("kitchen",)
    judged = library.classify(file)
    assert (judged.labels[0].label, judged.input) == ("kitchen", str(file))
    asked = tmp_path / "queries.tsv"
    asked.write_text("1\tviolin tune\n2\tship\n", encoding="utf-8")
    assert [name for name, _ in library.batch(asked)] == ["1", "2"]


def test_a_name_of_nothing_is_said(library: Any_) -> None:
    with pytest.raises(DocumentNotFound, match=r"library\.entries\(\)"):
        library.document("nothing/at all")
    with pytest.raises(DocumentNotFound):
        library.similar("nothing", files=False)
    with pytest.raises(DocumentNotFound):
        library.delete("sea/0", "nothing")
    with pytest.raises(IndexNotFound, match=r"library\.index\("):
        library.search("ship", index="other")
    with pytest.raises(BadOption, match="label: no document has the label") as caught:
        library.search("ship", label="seas")
    assert caught.value.fields == ("label",)
    with pytest.raises(BadOption, match="since"):
        library.entries(Filter(since="soon"))
    assert len(library) == 40


def test_documents(library: Any_) -> None:
    """Documents are counted, listed, shown, exported and removed."""
    assert len(library) == 40
    assert library.document("sea/0").labels == ("sea",)
    assert {entry.split for entry in library.entries(path="sea")} == {"train", "test"}
    assert library.names("document", "sea/1") == ["sea/12", "sea/16"]
    stream = io.StringIO()
    assert library.export(stream, Filter(labels=("sky",)), on_stage=print) == 10
    assert all(found.ok for found in library.examine(on_stage=print))
    drawn = library.map("plane")
    assert library.map("plane", previous=drawn).ids == drawn.ids
    assert library.delete("sea/0", "sky/2") == 2
    assert len(library) == 38
    assert library.delete() == 0


def test_vectors_are_exported(library: Any_, tmp_path: Path) -> None:
    """A file of vectors has the documents of the index, whatever it is read with."""
    ids, vectors = library.vectors()
    file = tmp_path / "vectors.npz"
    assert library.export_vectors(file) == len(ids)
    first = file.read_bytes()
    assert library.export_vectors(str(file)) == len(ids)
    assert file.read_bytes() == first
    with np.load(file, allow_pickle=False) as read:
        assert read["ids"].tolist() == ids
        assert np.array_equal(read["vectors"], vectors)
        documents = [library.document(name) for name in ids]
        assert read["titles"].tolist() == [one.title[:200] for one in documents]
        assert read["labels"].tolist() == ["\n".join(one.labels) for one in documents]
    with pytest.raises(BadOption, match=r"must end in \.npz or \.parquet"):
        library.export_vectors(tmp_path / "vectors.csv")
    file.write_text("mine", encoding="utf-8")
    with pytest.raises(lpisearch.FileInTheWay):
        library.export_vectors(file)
    assert library.export_vectors(file, force=True) == len(ids)


def test_vectors_in_parquet(library: Any_, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    library.export_vectors(tmp_path / "vectors.parquet")
    rows = parquet.read_table(tmp_path / "vectors.parquet").to_pylist()
    ids, vectors = library.vectors()
    assert [row["id"] for row in rows] == ids
    assert np.array_equal(np.array([row["vector"] for row in rows], np.float32), vectors)
    assert rows[0]["labels"] == list(library.document(ids[0]).labels)


def test_coroutines(library: Any_, here: Library) -> None:
    """An event loop gets what the methods return, several at a time, and their errors."""

    async def use() -> None:
        async with lpisearch.AsyncLibrary(library) as loop:
            found = await asyncio.gather(*(loop.search(text, k=2) for text in ("ship", "star")))
            assert [answer[0].labels for answer in found] == [("sea",), ("sky",)]
            assert await loop.count() == 40
            assert [one.id async for one in loop] == [one.id for one in here]
            runs = [run async for run in loop.batch([("1", "violin tune"), ("2", "ship")])]
            assert [name for name, _ in runs] == ["1", "2"]
            async for document in loop.documents():  # left before its end
                assert document.id == "sea/0"
                break
            with pytest.raises(DocumentNotFound):
                await loop.document("nothing/at all")
            waiting = asyncio.ensure_future(loop.topics(3))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert (await loop.topics(3)).topics

    asyncio.run(use())


def test_labels(library: Any_) -> None:
    """Labels are given, taken away, predicted and forgotten."""
    state = library.state()
    assert library.label("sea/0", add=["wet", "salt"], remove="sea").added == 2
    assert library.document("sea/0").labels == ("wet", "salt")
    assert library.label(where=Filter(labels=("sky",)), add="high").documents == 10
    assert library.state() != state
    report = library.predict_labels(labelled=True)
    assert report.documents == 40
    said = [library.predicted(entry.id) for entry in library.entries()]
    assert sum(map(bool, said)) == report.predicted
    assert library.forget_predicted() == report.predicted


def test_work(library: Any_, here: Library) -> None:
    """Files are brought in, an index is built and taken up, and each says how far it has come."""
    assert isinstance(here.path, Path)
    folder = here.path.parent / "more"
    folder.mkdir()
    (folder / "ship.txt").write_text("ship harbour sail anchor", encoding="utf-8")
    seen: list[Any] = []
    report = library.ingest(folder, labels="none", on_progress=seen.append)
    assert (report.added, report.failed) == (1, 0)
    stages: list[str] = []
    steps: list[tuple[int, int]] = []

    def on_step(done: int, total: int) -> None:
        steps.append((done, total))

    built = library.index("lsi", dims=3, on_stage=stages.append, on_step=on_step)
    assert (built.method, built.dims, built.documents) == ("lsi", 3, 41)
    assert len(stages) == len(set(stages)) > 0
    assert all(0 < done <= total for done, total in steps)
    assert library.search("harbour sail", by="semantic", k=50).notes == ()
    ids, vectors = library.vectors()
    assert (len(ids), *vectors.shape) == (41, 41, 3)
    assert vectors.dtype == np.float32
    assert library.writer() == ""


def test_evaluation(library: Any_) -> None:
    """A measurement gives the same tables, part by part."""
    cells: list[str] = []
    report = library.evaluate(
        "classify",
        options=EvaluateOptions(methods=("terms",)),
        wanted=CategoriesOptions(train=(0.5,), repeats=1, classifiers=("centroid",)),
        on_cell=lambda name, _done, _total: cells.append(name),
    )
    assert report.tables[0].rows[0]["representation"] == "terms"
    assert cells
    with pytest.raises(BadOption):
        library.evaluate("nothing of the kind")


def _forms(kind: type) -> dict[str, Any]:
    """Return how each method of a class is called, and what it gives."""

    def form(method: Callable[..., Any]) -> Any:
        called = inspect.signature(method)
        taken = [
            (
                each.name,
                each.kind,
                each.annotation,
                "a call" if callable(each.default) else each.default,
            )
            for each in called.parameters.values()
        ]
        return taken, called.return_annotation

    named = {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}
    return {name: form(method) for name, method in named.items() if callable(method)}


def test_methods_are_called_alike() -> None:
    from lpisearch.library import Library
    from lpisearch.remote.client import RemoteLibrary

    ours, theirs = _forms(Library), _forms(RemoteLibrary)
    served = ours.keys() - _NOT_SERVED
    assert {name: theirs.get(name) for name in served} == {name: ours[name] for name in served}
    assert theirs.keys() - ours.keys() == {"jobs", "upload"}
    assert theirs.keys() >= _NOT_SERVED.keys()


def test_every_method_can_be_awaited() -> None:
    from lpisearch.library import Library

    local = {"evaluating", "is_source", "retokenise", "schema_differences", "upgrade"}
    awaited = _forms(lpisearch.AsyncLibrary)
    ours = {name: form for name, form in _forms(Library).items() if name not in local}
    assert {name: awaited[name] for name in ours.keys() - {"close", *_NOT_SERVED}} == {
        name: ours[name] for name in ours.keys() - {"close", *_NOT_SERVED}
    }
    assert awaited.keys() - ours.keys() == {"count", "documents"}
    assert ours.keys() <= awaited.keys()


@pytest.mark.parametrize(("name", "arguments"), _NOT_SERVED.items())
def test_what_is_not_served_is_refused(
    there: RemoteLibrary, name: str, arguments: tuple[str, ...]
) -> None:
    with pytest.raises(lpisearch.LpiSearchError, match="is not available from a server"):
        getattr(there, name)(*arguments)


def test_nobody_there() -> None:
    """An address without a server is said to be one."""
    with pytest.raises(lpisearch.ServerUnreachable, match="Cannot reach a library at"):
        lpisearch.connect("http://127.0.0.1:9").status()
    with pytest.raises(lpisearch.ServerUnreachable, match="must start with http"):
        lpisearch.connect("file:///etc/passwd")
