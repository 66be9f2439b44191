from collections.abc import Callable
from pathlib import Path

import pytest

from lpisearch.config import (
    KEYS,
    default_library,
    file_beside,
    own_file,
    read_preferences,
    set_preference,
    unset_preference,
)
from lpisearch.errors import BadOption, BadPreference, PreferencesUnwritable
from lpisearch.library import default_path


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Return a writer of the person's own file, in a folder of this test."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def write(text: str) -> Path:
        file = own_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    return write


def test_without_files_nothing_is_set(library: Path) -> None:
    assert read_preferences(library).values == {}
    assert not own_file().parent.exists()


def test_what_stands_beside_goes_before(own: Callable[[str], Path], library: Path) -> None:
    mine = own('k = 20\nby = "lexical"\n\n[index]\n# few\ndims = 50\nalpha = "auto"\n')
    beside = file_beside(library)
    beside.write_text('by = "semantic"\nindex.dims = 60\n')
    found = read_preferences(library)
    assert [(key, one[-1].value) for key, one in found.values.items()] == [
        *(("k", 20), ("by", "semantic"), ("index.dims", 60), ("index.alpha", "auto"))
    ]
    k, by, dims = (found.get(key) for key in ("k", "by", "index.dims"))
    assert k is not None
    assert k.origin == f"{mine}, line 1"
    assert by is not None
    assert by.origin == f"{beside}, line 1"
    assert dims is not None
    assert dims.line == 2
    table = {key: one[-1].value for key, one in found.values.items() if key.startswith("index.")}
    assert table == {"index.dims": 60, "index.alpha": "auto"}


def test_lists_are_added_up(own: Callable[[str], Path], library: Path) -> None:
    own('exclude = ["*.log"]')
    file_beside(library).write_text('exclude = ["drafts/"]')
    assert read_preferences(library).all_of("exclude") == ["*.log", "drafts/"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("k = 3\nkk = 4", "line 2: unknown setting “kk” (did you mean k?)"),
        ("[index]\n\nmehtod = 1", "line 3: unknown setting “index.mehtod”"),
        ('k = "ten"', "line 1: “k” must be a whole number, not 'ten'"),
        ("k = true", "“k” must be a whole number"),
        ("k = -1", "“k” must be a whole number, not -1"),
        ("k = 2.5", "“k” must be a whole number"),
        ("index.alpha = nan", "“index.alpha” must be auto or a number"),
        ('index.dims = "many"', "“index.dims” must be auto or a whole number, not 'many'"),
        ('by = "magic"', "invalid value “magic” for “by”"),
        ('exclude = "*.log"', "“exclude” must be a list"),
        ("exclude = [1]", "“exclude” must be a list"),
        ('library = ""', "“library” must be a path"),
        ("k = 1\nk = 2", "not valid TOML"),
        ("[index", "not valid TOML"),
        ("by = [", "not valid TOML"),
        ("index = 3", "unknown setting “index”"),
        ("k.x = 3", "“k” must be a whole number"),
    ],
)
def test_what_means_nothing_is_named(own: Callable[[str], Path], text: str, says: str) -> None:
    file = own(text)
    with pytest.raises(BadPreference) as caught:
        read_preferences()
    said = str(caught.value)
    assert str(file) in said
    assert says in said
    assert "Next: edit the file" in said


def test_files_that_cannot_be_read(own: Callable[[str], Path]) -> None:
    file = own("")
    file.write_bytes(b'by = "\xe9"')
    with pytest.raises(BadPreference, match="not valid UTF-8"):
        read_preferences()
    file.unlink()
    file.mkdir()
    with pytest.raises(BadPreference, match="directory"):
        read_preferences()


@pytest.mark.parametrize("text", ['opener = "sh -c"', 'library = "/elsewhere.db"'])
def test_a_library_names_no_command(library: Path, text: str) -> None:
    file_beside(library).write_text(text)
    with pytest.raises(BadPreference, match="is a user setting"):
        read_preferences(library)


def test_a_default_library(
    own: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("LPISEARCH_DB", raising=False)
    assert default_path() == Path("lpisearch.db")
    own('library = "~/notes/all.db"')
    assert default_path() == Path.home() / "notes" / "all.db"
    own('library = "all.db"')
    assert default_path() == own_file().parent / "all.db"
    (folder / "lpisearch.db").touch()
    assert default_path() == Path("lpisearch.db")
    monkeypatch.setenv("LPISEARCH_DB", "other.db")
    assert default_path() == Path("other.db")


def test_setting_and_unsetting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = own_file()
    assert set_preference(file, "k", ["20"]) == 20
    file.write_text(file.read_text() + "# by hand\nby = 'lexical' # words\n")
    set_preference(file, "index.alpha", ["0.5"])
    set_preference(file, "index.dims", ["auto"])
    set_preference(file, "exclude", ["*.log", "drafts/"])
    set_preference(file, "library", ["notes.db"])
    found = read_preferences()
    values = {key: one[-1].value for key, one in found.values.items()}
    assert values == {
        "k": 20,
        "by": "lexical",
        "exclude": ["*.log", "drafts/"],
        "library": str(tmp_path / "notes.db"),
        "index.alpha": 0.5,
        "index.dims": "auto",
    }
    standing = default_library()
    assert standing is not None
    assert standing.value == tmp_path / "notes.db"
    assert "# by hand\nby = 'lexical' # words\n" in file.read_text()
    assert unset_preference(file, "index.alpha")
    assert unset_preference(file, "index.dims")
    assert not unset_preference(file, "index.dims")
    assert "index" not in file.read_text()
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize(
    ("key", "words"),
    [("kk", ["3"]), ("k", ["ten"]), ("k", ["1", "2"]), ("by", ["magic"]), ("index.alpha", ["inf"])],
)
def test_what_cannot_be_set(key: str, words: list[str]) -> None:
    with pytest.raises(BadOption):
        set_preference(own_file(), key, words)
    assert not own_file().exists()


def test_what_is_not_for_a_library_is_not_set_beside_it(library: Path) -> None:
    with pytest.raises(BadOption, match="is a user setting"):
        set_preference(file_beside(library), "opener", ["okular"], own=False)


def test_a_linked_file_stays_linked(tmp_path: Path) -> None:
    kept = tmp_path / "kept.toml"
    kept.write_text("k = 3\n")
    own_file().parent.mkdir(parents=True)
    own_file().symlink_to(kept)
    set_preference(own_file(), "k", ["5"])
    assert own_file().is_symlink()
    assert kept.read_text() == "k = 5\n"


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("a file in the way")
    with pytest.raises(PreferencesUnwritable, match="Cannot write the settings"):
        set_preference(own_file(), "k", ["3"])


def test_every_key_says_what_it_is() -> None:
    assert all(known.help for known in KEYS.values())
