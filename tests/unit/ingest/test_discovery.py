from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lpisearch.ingest.discovery import Discovery, NothingThere
from lpisearch.settings import is_own_file

if TYPE_CHECKING:
    from collections.abc import Callable


def _found(*arguments: str | Path) -> tuple[list[str], Discovery]:
    discovery = Discovery(lambda _path: False)
    files = list(discovery.files(str(argument) for argument in arguments))
    return [Path(file.path).relative_to(file.root).as_posix() for file in files], discovery


def test_folders_are_walked_in_order(folder: Callable[..., Path]) -> None:
    """All files of a folder are found, in the order of their names."""
    root = folder({"b.txt": "", "a/z.txt": "", "a/y/x.txt": "", "c.txt": ""})
    assert _found(root)[0] == ["a/y/x.txt", "a/z.txt", "b.txt", "c.txt"]


def test_each_file_is_found_once(folder: Callable[..., Path]) -> None:
    """A file that several arguments mean is found once, under the first."""
    root = folder({"a/one.txt": "", "two.txt": ""})
    assert _found(root / "a", root, root / "two.txt", root)[0] == ["one.txt", "two.txt"]


def test_hidden_files_are_passed_over(folder: Callable[..., Path]) -> None:
    """Hidden files and folders are passed over, unless they are named."""
    root = folder({".git/a.txt": "", ".b.txt": "", "c.txt": ""})
    assert _found(root)[0] == ["c.txt"]
    assert _found(root / ".b.txt")[0] == [".b.txt"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.txt", ["one.txt"]),
        ("**/*.txt", ["a/b/three.txt", "a/two.txt", "one.txt"]),
        ("a/*", ["b/three.txt", "two.txt"]),
        ("[n-p]ne.txt", ["one.txt"]),
    ],
)
def test_globs(folder: Callable[..., Path], pattern: str, expected: list[str]) -> None:
    """Globs that the shell did not expand are expanded, relative to their fixed part."""
    root = folder({"one.txt": "", "a/two.txt": "", "a/b/three.txt": ""})
    assert _found(root / pattern)[0] == expected


def test_a_name_with_glob_characters_is_a_name_first(folder: Callable[..., Path]) -> None:
    """A file whose very name looks like a glob is found by its name."""
    root = folder({"[draft].txt": "", "d": ""})
    assert _found(root / "[draft].txt")[0] == ["[draft].txt"]


@pytest.mark.parametrize("name", ["nowhere", "*.nothing", "[a-z"])
def test_nothing_there(folder: Callable[..., Path], name: str) -> None:
    """A path that means nothing is a stated error that repeats it."""
    lost = str(folder({}) / name)
    with pytest.raises(NothingThere) as caught:
        _found(lost)
    assert lost in str(caught.value)


def test_links_in_circles(folder: Callable[..., Path]) -> None:
    """Links to a parent, to each other or to themselves end the walk and lose nothing."""
    root = folder({"a/one.txt": "", "b/two.txt": ""})
    (root / "a" / "up").symlink_to(root)
    (root / "a" / "across").symlink_to(root / "b")
    (root / "self").symlink_to(root / "self")
    (root / "ping").symlink_to(root / "pong")
    (root / "pong").symlink_to(root / "ping")
    files, discovery = _found(root)
    assert sorted(Path(file).name for file in files) == ["one.txt", "two.txt"]
    assert {Path(one.path).name for one in discovery.troubles} == {"self", "ping", "pong"}


def test_a_broken_link_is_named(folder: Callable[..., Path]) -> None:
    """A link to nothing is reported by its name, in a folder and on the command line."""
    root = folder({"a.txt": ""})
    (root / "broken.txt").symlink_to(root / "nowhere.txt")
    for argument in (root, root / "broken.txt"):
        discovery = _found(argument)[1]
        assert [one.path for one in discovery.troubles] == [str(root / "broken.txt")]
        assert "link to nothing" in discovery.troubles[0].reason


def test_pipes_and_sockets_are_not_opened(folder: Callable[..., Path]) -> None:
    """A named pipe is passed over in a folder, and refused when it is named: reading it hangs."""
    root = folder({"a.txt": ""})
    os.mkfifo(root / "pipe")
    assert _found(root)[0] == ["a.txt"]
    files, discovery = _found(root / "pipe")
    assert files == []
    assert "not a regular file" in discovery.troubles[0].reason


def test_a_name_that_is_no_text_is_reported(folder: Callable[..., Path]) -> None:
    """A file name that is not UTF-8 is reported so that it can be printed; the rest is read."""
    root = folder({"good.txt": "", "also/good.txt": ""})
    Path(os.fsdecode(os.fsencode(root) + b"/caf\xe9.txt")).touch()
    bad_folder = Path(os.fsdecode(os.fsencode(root) + b"/r\xe9sum\xe9s"))
    bad_folder.mkdir()
    (bad_folder / "cv.txt").touch()
    files, discovery = _found(root)
    assert files == ["also/good.txt", "good.txt"]
    assert [one.path.encode() for one in discovery.troubles] == [
        f"{root}/caf\\xe9.txt".encode(),
        f"{root}/r\\xe9sum\\xe9s".encode(),
    ]
    assert "UTF-8" in discovery.troubles[0].reason


def test_the_library_does_not_ingest_itself(
    folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library, and all files beside it that are its own, are passed over."""
    own = ["l.db", "l.db-wal", "l.db-shm", "l.db.lock", "l.db.before-0001", "l.index/terms.txt"]
    other = ["l.db.txt", "l.dbx", "l.index.txt", "sub/l.db"]
    root = folder(dict.fromkeys([*own, *other], ""))
    monkeypatch.chdir(root / "sub")
    for library in (root / "l.db", Path("../l.db"), Path("../sub/../l.db")):
        discovery = Discovery(lambda path, library=library: is_own_file(path, library))  # type: ignore[misc]
        files = [Path(file.path) for file in discovery.files([str(root)])]
        assert sorted(str(path.relative_to(root)) for path in files) == sorted(other)
