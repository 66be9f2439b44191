from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lpisearch.errors import LpiSearchError, NothingThere
from lpisearch.ingest.discovery import Discovery
from lpisearch.ingest.ignore import OwnFiles
from lpisearch.options import FindOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Folder = Callable[..., Path]


def _found(*arguments: str | Path, **options: Any) -> tuple[list[str], Discovery]:
    discovery = Discovery(options=FindOptions(**options))
    files = list(discovery.files(str(argument) for argument in arguments))
    return [Path(file.path).relative_to(file.root).as_posix() for file in files], discovery


def test_folders_are_walked_in_order(folder: Folder) -> None:
    root = folder({"b.txt": "", "a/z.txt": "", "a/y/x.txt": "", "c.txt": ""})
    assert _found(root)[0] == ["a/y/x.txt", "a/z.txt", "b.txt", "c.txt"]


def test_each_file_is_found_once(folder: Folder) -> None:
    root = folder({"a/one.txt": "", "two.txt": ""})
    for arguments in ((root / "a", root, root / "two.txt"), (root / "two.txt", root, root / "a")):
        assert sorted(_found(*arguments)[0]) == ["a/one.txt", "two.txt"]


def test_hidden_files_are_passed_over(folder: Folder) -> None:
    root = folder({".git/a.txt": "", ".b.txt": "", "c.txt": ""})
    files, discovery = _found(root)
    assert files == ["c.txt"]
    assert discovery.left_out == {"hidden": 2}
    assert _found(root / ".b.txt")[0] == [".b.txt"]
    assert _found(root, hidden=True)[0] == [".b.txt", ".git/a.txt", "c.txt"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.txt", ["one.txt"]),
        ("**/*.txt", ["a/b/three.txt", "a/two.txt", "one.txt"]),
        ("a/*", ["b/three.txt", "two.txt"]),
        ("[n-p]ne.txt", ["one.txt"]),
    ],
)
def test_globs(folder: Folder, pattern: str, expected: list[str]) -> None:
    """Globs that the shell did not expand are expanded, relative to their fixed part."""
    root = folder({"one.txt": "", "a/two.txt": "", "a/b/three.txt": ""})
    assert _found(root / pattern)[0] == expected


def test_a_name_with_glob_characters_is_a_name_first(folder: Folder) -> None:
    root = folder({"[draft].txt": "", "d": ""})
    assert _found(root / "[draft].txt")[0] == ["[draft].txt"]


@pytest.mark.parametrize("name", ["nowhere", "*.nothing", "[a-z"])
def test_nothing_there(folder: Folder, name: str) -> None:
    """A path that means nothing is a stated error that repeats it."""
    lost = str(folder({}) / name)
    with pytest.raises(NothingThere) as caught:
        _found(lost)
    assert lost in str(caught.value)


def test_links_in_circles(folder: Folder) -> None:
    root = folder({"a/one.txt": "", "b/two.txt": ""})
    (root / "a" / "up").symlink_to(root)
    (root / "a" / "across").symlink_to(root / "b")
    (root / "self").symlink_to(root / "self")
    (root / "ping").symlink_to(root / "pong")
    (root / "pong").symlink_to(root / "ping")
    files, discovery = _found(root, follow_links=True)
    assert sorted(Path(file).name for file in files) == ["one.txt", "two.txt"]
    assert {Path(one.path).name for one in discovery.troubles} == {"self", "ping", "pong"}


def test_links_are_followed_where_that_is_asked(folder: Folder) -> None:
    outside = folder({"far.txt": "", "deep/far.txt": ""}, "outside")
    root = folder({"a.txt": ""})
    (root / "link.txt").symlink_to(outside / "far.txt")
    (root / "folder").symlink_to(outside / "deep")
    files, discovery = _found(root)
    assert files == ["a.txt"]
    assert discovery.left_out == {"links": 2}
    assert _found(root, follow_links=True)[0] == ["a.txt", "folder/far.txt", "link.txt"]
    assert _found(root / "link.txt")[0] == ["link.txt"]
    assert _found(root / "folder")[0] == ["far.txt"]


@pytest.fixture
def nested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder with 1,500 nested in it, beyond any path, and a file in the 1,200th."""
    monkeypatch.chdir(tmp_path)
    for depth in range(1500):
        os.mkdir("dd")  # noqa: PTH102 (the folder that it is in is too deep to be named)
        os.chdir("dd")
        if depth == 1200:
            Path("a.txt").touch()
    os.chdir(tmp_path)
    yield tmp_path
    subprocess.run(["rm", "-rf", "dd"], check=True)  # pytest and shutil could not


def test_deeply_nested_folders(nested: Path) -> None:
    (nested / "z").mkdir()
    (nested / "z" / "last.txt").touch()
    files, discovery = _found(nested)
    assert [Path(file).name for file in files] == ["a.txt", "last.txt"]
    assert len(discovery.unlisted) == 1
    assert {one.reason for one in discovery.troubles} == {"File name too long"}


def test_a_glob_through_deep_folders_is_a_stated_error(nested: Path) -> None:
    with pytest.raises(LpiSearchError, match="nested too deeply"):
        _found(nested / "**" / "*.txt")


def test_a_broken_link_is_named(folder: Folder) -> None:
    root = folder({"a.txt": ""})
    (root / "broken.txt").symlink_to(root / "nowhere.txt")
    assert _found(root)[1].left_out == {"links": 1}
    for argument in (root, root / "broken.txt"):
        discovery = _found(argument, follow_links=True)[1]
        assert [one.path for one in discovery.troubles] == [str(root / "broken.txt")]
        assert "broken link" in discovery.troubles[0].reason


def test_pipes_and_sockets_are_not_opened(folder: Folder) -> None:
    root = folder({"a.txt": ""})
    os.mkfifo(root / "pipe")
    assert _found(root)[0] == ["a.txt"]
    files, discovery = _found(root / "pipe")
    assert files == []
    assert "not a regular file" in discovery.troubles[0].reason


def test_a_name_that_is_no_text_is_reported(folder: Folder) -> None:
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
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = ["l.db", "l.db-wal", "l.db-shm", "l.db.lock", "l.db.before-0001", "l.index/terms.txt"]
    other = ["l.db.txt", "l.dbx", "l.index.txt", "sub/l.db"]
    root = folder(dict.fromkeys([*own, *other], ""))
    monkeypatch.chdir(root / "sub")
    for library in (root / "l.db", Path("../l.db"), Path("../sub/../l.db")):
        discovery = Discovery(OwnFiles.of(library))
        files = [Path(file.path) for file in discovery.files([str(root)])]
        assert sorted(str(path.relative_to(root)) for path in files) == sorted(other)


def test_the_library_is_known_by_any_name(folder: Folder) -> None:
    root = folder(dict.fromkeys(["l.db", "l.db.lock", "l.index/terms.txt", "notes.txt"], ""))
    named = root.parent / "name.db"
    named.symlink_to(root / "l.db")
    (root / "again.txt").hardlink_to(root / "l.db.lock")
    discovery = Discovery(OwnFiles.of(named), FindOptions(follow_links=True))
    (root / "linked.txt").symlink_to(root / "l.db")
    assert [Path(file.path).name for file in discovery.files([str(root)])] == ["notes.txt"]
    discovery = Discovery(OwnFiles.of(named))
    assert list(discovery.files([str(root / "l.db")])) == []
    assert "library itself" in discovery.troubles[0].reason


_TREE = {
    ".gitignore": "*.log\n/build\n!kept.log\n",
    "a.txt": "",
    "b.log": "",
    "kept.log": "",
    "build/c.txt": "",
    "sub/build/d.txt": "",
    "sub/.gitignore": "d.txt\n",
    "node_modules/p/e.txt": "",
    "__pycache__/f.txt": "",
    "cache/CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n",
    "cache/g.txt": "",
    "env/pyvenv.cfg": "",
    "env/h.txt": "",
}


def test_what_is_ignored_is_left_out_and_counted(folder: Folder) -> None:
    root = folder(_TREE)
    files, discovery = _found(root)
    assert files == ["a.txt", "kept.log"]
    counts = {"gitignore": 3, "packages": 2, "caches": 2, "hidden": 2}
    assert discovery.left_out == counts
    everything = [name for name in sorted(_TREE) if ".gitignore" not in name]
    assert sorted(_found(root, no_ignore=True)[0]) == everything


def test_named_folders_are_walked_whatever_is_ignored(folder: Folder) -> None:
    root = folder({**_TREE, ".git/config": ""})
    assert _found(root / "build")[0] == ["c.txt"]
    assert _found(root / "node_modules")[0] == ["p/e.txt"]
    assert _found(root / "env")[0] == ["h.txt", "pyvenv.cfg"]
    assert _found(root / "sub", root / "sub" / "build" / "d.txt")[0] == ["build/d.txt"]


def test_ignore_files_of_folders_above(folder: Folder) -> None:
    root = folder(
        {
            ".gitignore": "*.txt\n",
            ".lpisearchignore": "*.md\n",
            "repo/.git/config": "",
            "repo/.gitignore": "*.log\n",
            "repo/in/a.txt": "",
            "repo/in/b.log": "",
            "repo/in/c.md": "",
            "repo/in/d.csv": "",
        }
    )
    assert _found(root / "repo" / "in")[0] == ["a.txt", "d.csv"]


def test_own_ignore_file_goes_before_all_rules(folder: Folder) -> None:
    root = folder(
        {
            ".gitignore": "*.log\n",
            ".lpisearchignore": "!b.log\n!node_modules/\n!.notes/\n*.txt\n",
            "a.txt": "",
            "b.log": "",
            "node_modules/c.md": "",
            ".notes/d.md": "",
        }
    )
    assert _found(root)[0] == [".notes/d.md", "b.log", "node_modules/c.md"]
    files, discovery = _found(root, exclude=("*.log", "/.notes"))
    assert files == ["node_modules/c.md"]
    assert discovery.left_out["exclude"] == 2


def test_named_files_may_be_excluded(folder: Folder) -> None:
    root = folder({".gitignore": "a.txt\n", "a.txt": "", "draft.txt": ""})
    files, discovery = _found(root / "a.txt", root / "draft.txt", exclude=("draft*",))
    assert files == ["a.txt"]
    assert discovery.left_out == {"exclude": 1}


def test_indexes_of_any_library_are_passed_over(folder: Folder) -> None:
    index = "old/other.index/default-0123456789ab"
    names = ("manifest.json", "verified.json", "note.txt")
    root = folder({f"{index}/{name}": "{}" for name in names} | {"a-0123456789ab/b.txt": "b"})
    files, discovery = _found(root)
    assert files == ["a-0123456789ab/b.txt"]
    assert discovery.left_out == {"caches": 1}
    assert len(_found(root, no_ignore=True)[0]) == 4
    assert len(_found(root / index)[0]) == 3
