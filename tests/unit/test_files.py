"""Files are written whole, through no link, and no more open than they should be."""

import os
import signal
import stat
from pathlib import Path

import pytest

from lpisearch.errors import FileInTheWay
from lpisearch.files import folder_mode, mode_of, partial_beside, refuse_others, sweep, whole_file


def test_a_file_appears_when_all_is_written(tmp_path: Path) -> None:
    """Until its block ends the file of before is there; then the new one, and nothing beside it."""
    target = tmp_path / "a"
    target.write_bytes(b"before")
    with whole_file(target) as stream:
        stream.write(b"after")
        assert target.read_bytes() == b"before"
    assert target.read_bytes() == b"after"
    assert list(tmp_path.iterdir()) == [target]


def test_a_block_that_fails_changes_nothing(tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.write_bytes(b"before")

    def fail() -> None:
        with whole_file(target) as stream:
            stream.write(b"after")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert target.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"precious")
    target = tmp_path / "a"
    target.symlink_to(tmp_path / "precious")
    with whole_file(target) as stream:
        stream.write(b"new")
    assert (tmp_path / "precious").read_bytes() == b"precious"
    assert not target.is_symlink()
    assert target.read_bytes() == b"new"


def test_the_name_for_now_cannot_be_guessed(tmp_path: Path) -> None:
    names = set()
    for _ in range(20):
        with partial_beside(tmp_path / "a") as partial:
            names.add(partial.path.name)
    assert len(names) == 20


def test_a_device_is_written_as_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with whole_file(pipe) as stream:
        stream.write(b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize(("before", "mode"), [(None, 0o600), (0o640, 0o640), (0o604, 0o604)])
def test_rights_of_a_written_file(tmp_path: Path, before: int | None, mode: int) -> None:
    target = tmp_path / "a"
    if before is not None:
        target.touch()
        target.chmod(before)
    with whole_file(target, 0o600):
        pass
    assert stat.S_IMODE(target.stat().st_mode) == mode


def test_rights_of_a_copy(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "a").chmod(0o640)
    assert mode_of(tmp_path / "a") == 0o640
    assert mode_of(tmp_path / "none") == 0o666
    assert [folder_mode(mode) for mode in (0o600, 0o640, 0o644)] == [0o700, 0o750, 0o755]


def test_what_a_kill_left_is_removed(tmp_path: Path) -> None:
    target = tmp_path / "a"
    child = os.fork()
    if child == 0:  # pragma: no cover (the child is killed)
        with partial_beside(target):
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    (remains,) = tmp_path.iterdir()
    (tmp_path / ".a.notes.partial").touch()
    with partial_beside(target) as partial:
        assert not remains.exists()
        sweep(target)
        assert partial.path.exists()
    assert [path.name for path in tmp_path.iterdir()] == [".a.notes.partial"]


def test_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    target = tmp_path / "a"
    refuse_others(target, "a report", lambda _beginning: False)
    target.touch()
    refuse_others(target, "a report", lambda _beginning: False)
    target.write_bytes(b"mine")
    refuse_others(target, "a report", lambda beginning: beginning == b"mine")
    with pytest.raises(FileInTheWay, match=r"is not a report\. Next: .* with force=True"):
        refuse_others(target, "a report", lambda _beginning: False)
