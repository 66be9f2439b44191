from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from lpisearch.errors import IndexDamaged, IndexOutdated, IndexTooNew, IndexUnwritable
from lpisearch.index import format as store
from lpisearch.index.format import FORMAT, MANIFEST_FILE, SHARD_FORMAT, Manifest, check_sizes
from lpisearch.model.reports import BuiltIndex
from lpisearch.options import IndexSpec

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

ARRAYS: dict[str, NDArray[Any]] = {
    "vectors": np.arange(12, dtype=np.float32).reshape(4, 3),
    "document_rows": np.array([1, 2, 5, 9], np.int64),
    "terms": np.frombuffer(b"one\ntwo", np.uint8),
}


def manifest(**changes: Any) -> Manifest:
    """Return a small manifest."""
    plain = Manifest(
        spec=IndexSpec(method="lsi", dims=3),
        tokeniser={"language": "english"},
        weighting={"name": "tf", "mean_length": 2.5, "k1": 1.2, "b": 0.75},
        result=BuiltIndex(dims=3, documents=4),
        folded={"documents": 0, "words": 0, "unknown": 0},
        fingerprint="abc",
        versions={"numpy": "2"},
        created="2026-01-01T00:00:00+00:00",
    )
    return replace(plain, **changes)


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """Return a folder as it is after publishing."""
    return store.publish(tmp_path / "library.index", manifest(), ARRAYS)


def test_what_is_published_is_opened_bit_by_bit(published: Path) -> None:
    opened, arrays = store.open_folder(published)
    assert replace(opened, arrays={}) == manifest()
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].tobytes() == array.tobytes()


def test_large_arrays_are_mapped_and_small_ones_keep_no_file_open(tmp_path: Path) -> None:
    large = np.ones((40_000, 2), np.float32)
    _, arrays = store.open_folder(store.publish(tmp_path, manifest(), {**ARRAYS, "large": large}))
    assert [name for name in arrays if isinstance(arrays[name], np.memmap)] == ["large"]
    for array in arrays.values():
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_nothing_but_the_folder_is_left(published: Path) -> None:
    assert [path.name for path in published.parent.iterdir()] == [published.name]


def test_equal_indexes_have_equal_names(tmp_path: Path) -> None:
    """The folder is named after its content, so that publishing again replaces it."""
    first = store.publish(tmp_path, manifest(), ARRAYS)
    assert store.publish(tmp_path, manifest(), ARRAYS) == first
    other = store.publish(tmp_path, manifest(), ARRAYS | {"vectors": ARRAYS["vectors"] + 1})
    assert other != first


def test_unchanged_arrays_are_taken_from_the_version_before(published: Path) -> None:
    kept = {"terms": published / "terms.npy"}
    rest = {name: array for name, array in ARRAYS.items() if name != "terms"}
    newer = store.publish(published.parent, manifest(fingerprint="def"), rest, kept)
    _, arrays = store.open_folder(newer)
    assert arrays["terms"].tobytes() == b"one\ntwo"
    assert os.stat(newer / "terms.npy").st_ino == os.stat(published / "terms.npy").st_ino  # noqa: PTH116


@pytest.mark.parametrize(
    ("name", "most", "kind"),
    [
        *(("some_posting_counts", 255, "u1"), ("some_posting_places", 256, "u2")),
        *(("some_sequence_terms", 65_536, "i4"), ("some_starts", 3, "i4")),
        *(("other_starts", 1 << 31, "i8"), ("other", 3, "i8")),
    ],
)
def test_whole_numbers_have_the_least_type_that_suffices(
    tmp_path: Path, name: str, most: int, kind: str
) -> None:
    numbers = np.array([0, 1, most], np.int64)
    np.save(tmp_path / "built.npy", numbers)
    given = store.publish(tmp_path / "memory", manifest(), {**ARRAYS, name: numbers})
    linked = store.publish(tmp_path / "files", manifest(), ARRAYS, {name: tmp_path / "built.npy"})
    for folder in (given, linked):
        _, arrays = store.open_folder(folder)
        assert arrays[name].dtype == kind
        assert arrays[name].tolist() == [0, 1, most]


def test_rows_that_need_a_larger_type_get_it(tmp_path: Path) -> None:
    first = store.publish(tmp_path, manifest(), {"posting_counts": np.array([1, 2])})
    before, _ = store.open_folder(first)
    path = {"posting_counts": first / "posting_counts.npy"}
    for more, kind in ((200, "u1"), (256, "i8")):
        rows = {"posting_counts": np.array([more])}
        folder = store.publish(
            tmp_path, replace(before, fingerprint=str(more)), {}, path, rows=rows
        )
        _, arrays = store.open_folder(folder)
        assert arrays["posting_counts"].dtype == kind
        assert arrays["posting_counts"].tolist() == [1, 2, more]
    assert store.open_folder(first)[1]["posting_counts"].tolist() == [1, 2]


@pytest.mark.parametrize("name", [*(f"{name}.npy" for name in ARRAYS), MANIFEST_FILE])
def test_a_missing_file_is_stated(published: Path, name: str) -> None:
    (published / name).unlink()
    with pytest.raises(IndexDamaged, match=name) as caught:
        store.open_folder(published)
    assert caught.value.next_step == "library.index()"


@pytest.mark.parametrize("at", [0, 60, 130, -1])
@pytest.mark.parametrize("name", ARRAYS)
def test_one_flipped_byte_is_noticed(published: Path, name: str, at: int) -> None:
    path = published / f"{name}.npy"
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(IndexDamaged, match="is corrupt"):
        store.open_folder(published)


def test_a_truncated_array_is_noticed(published: Path) -> None:
    path = published / "vectors.npy"
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(IndexDamaged, match=r"vectors\.npy"):
        store.open_folder(published)
    with pytest.raises(IndexDamaged, match=r"vectors\.npy"):
        store.open_folder(published, verify=False)


def test_a_missing_folder_is_stated(tmp_path: Path) -> None:
    with pytest.raises(IndexDamaged, match="nowhere"):
        store.open_folder(tmp_path / "nowhere")


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": 1}', '{"format": 1, "x": 2}'])
def test_a_broken_manifest_is_stated(published: Path, text: str) -> None:
    (published / MANIFEST_FILE).write_text(text)
    with pytest.raises(IndexDamaged, match=re.escape(MANIFEST_FILE)):
        store.open_folder(published)


def test_a_newer_format_is_refused(published: Path) -> None:
    values = json.loads((published / MANIFEST_FILE).read_text()) | {"format": FORMAT + 1}
    (published / MANIFEST_FILE).write_text(json.dumps(values))
    with pytest.raises(IndexTooNew, match="newer lpisearch"):
        store.open_folder(published)


def test_an_index_of_a_shard_is_to_be_built_anew(published: Path) -> None:
    values = json.loads((published / MANIFEST_FILE).read_text()) | {"format": SHARD_FORMAT}
    (published / MANIFEST_FILE).write_text(json.dumps(values))
    with pytest.raises(IndexOutdated, match="other shards"):
        store.open_folder(published)


def test_a_linear_map_is_written_so_that_an_earlier_program_can_read_it(published: Path) -> None:
    values = json.loads((published / MANIFEST_FILE).read_text())
    assert values["format"] == 1
    assert "placement" not in values
    opened = Manifest.read(published)
    assert (opened.format, opened.placement) == (1, "")


def test_a_rule_of_placing_comes_back(tmp_path: Path) -> None:
    folder = store.publish(tmp_path, manifest(placement="nystrom"), ARRAYS)
    assert json.loads((folder / MANIFEST_FILE).read_text())["format"] == 2
    opened, _ = store.open_folder(folder)
    assert (opened.format, opened.placement) == (2, "nystrom")


@pytest.mark.parametrize("rule", ["magic", 7, ["nystrom"], None])
def test_an_unknown_rule_is_of_a_later_program(tmp_path: Path, rule: Any) -> None:
    folder = store.publish(tmp_path, manifest(placement=rule or "later"), ARRAYS)
    values = json.loads((folder / MANIFEST_FILE).read_text())
    (folder / MANIFEST_FILE).write_text(json.dumps(values | {"placement": rule}))
    with pytest.raises(IndexTooNew, match=r"newer lpisearch \(format 2\)"):
        store.open_folder(folder)


def test_a_pickle_is_never_loaded(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"[Oo]bject"):
        store.publish(tmp_path, manifest(), {"vectors": np.array([{}], object)})
    assert not list(tmp_path.glob("default-*"))


def test_a_folder_that_cannot_be_written_is_stated(tmp_path: Path) -> None:
    (tmp_path / "library.index").write_text("in the way")
    with pytest.raises(IndexUnwritable, match=r"library\.index"):
        store.publish(tmp_path / "library.index", manifest(), ARRAYS)


def test_an_error_while_writing_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_values: object, **_options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(IndexUnwritable, match="No space left"):
        store.publish(tmp_path, manifest(), ARRAYS)
    assert list(tmp_path.iterdir()) == []


def test_sweeping_removes_what_is_not_in_use(published: Path) -> None:
    parent = published.parent
    for name in (".partial-0123456789ab", "default-0123456789ab", "photos", "default-old"):
        (parent / name).mkdir()
    (parent / "notes-0123456789ab").write_text("a file")
    (parent / "photos-0123456789ab").mkdir()
    (parent / "photos-0123456789ab" / "cat.jpg").write_text("not of an index")
    (parent / "linked-0123456789ab").symlink_to(parent / "photos")
    store.sweep(parent, {published.name})
    kept = {published.name, "photos", "default-old"}
    kept |= {f"{name}-0123456789ab" for name in ("notes", "photos", "linked")}
    assert {path.name for path in parent.iterdir()} == kept
    store.sweep(parent / "nowhere", set())


@pytest.mark.parametrize(
    ("name", "array"),
    [("../x", "vectors"), ("/etc/x", "vectors"), ("", "vectors"), ("default", "../vectors"),
     ("default", "/etc/vectors"), ("default", "a/b"), ("default", "..")],
)  # fmt: skip
def test_a_manifest_names_nothing_elsewhere(
    published: Path, tmp_path: Path, name: str, array: str
) -> None:
    values = json.loads((published / "manifest.json").read_text())
    values["name"] = name
    values["arrays"][array] = values["arrays"].pop("vectors")
    text = json.dumps(values).encode()
    folder = published.with_name(store.folder_name("crafted", text))
    published.rename(folder)
    (folder / "manifest.json").write_bytes(text)
    (folder / "vectors.npy").rename(tmp_path / "vectors.npy")
    for read in (store.Manifest.read, store.open_folder):
        with pytest.raises(IndexDamaged, match="names files elsewhere"):
            read(folder)


def test_publishing_again_leaves_a_sound_folder_alone(published: Path) -> None:
    before = os.stat(published).st_ino  # noqa: PTH116
    store.publish(published.parent, manifest(), ARRAYS)
    assert os.stat(published).st_ino == before  # noqa: PTH116
    (published / "vectors.npy").write_bytes(b"")
    store.publish(published.parent, manifest(), ARRAYS)
    store.open_folder(published)


@pytest.mark.parametrize("at", [0, 20, 200, 500, 900, -3])
def test_one_flipped_byte_of_the_manifest_is_noticed(published: Path, at: int) -> None:
    data = bytearray((published / MANIFEST_FILE).read_bytes())
    data[at] ^= 1
    (published / MANIFEST_FILE).write_bytes(data)
    with pytest.raises(IndexDamaged, match=re.escape(MANIFEST_FILE)):
        store.open_folder(published)


def test_a_damaged_array_is_noticed_by_its_size(published: Path) -> None:
    path = published / "vectors.npy"
    whole = path.read_bytes()
    check_sizes(published, Manifest.read(published))
    path.write_bytes(whole[:-1])
    with pytest.raises(IndexDamaged, match="is corrupt"):
        check_sizes(published, Manifest.read(published))
    path.unlink()
    with pytest.raises(IndexDamaged, match="is missing"):
        check_sizes(published, Manifest.read(published))
    path.mkdir()
    with pytest.raises(IndexDamaged, match=r"vectors\.npy"):
        store.open_folder(published)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY\x01\x00v\x00{", b"nothing"])
def test_what_is_no_array_is_refused(published: Path, content: bytes) -> None:
    path = published / "vectors.npy"
    path.write_bytes(content.ljust(path.stat().st_size, b"\0"))
    with pytest.raises(IndexDamaged, match=r"vectors\.npy"):
        store.open_folder(published, verify=False)


def test_an_index_without_documents_comes_back(tmp_path: Path) -> None:
    empty = {"vectors": np.zeros((0, 3), np.float32)}
    _, arrays = store.open_folder(store.publish(tmp_path, manifest(), empty))
    assert arrays["vectors"].shape == (0, 3)


def test_a_file_in_the_way_is_stated_beforehand(tmp_path: Path) -> None:
    store.check_writable(tmp_path / "library.index")
    store.check_writable(tmp_path)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(IndexUnwritable, match="not a folder"):
        store.check_writable(tmp_path / "file")
