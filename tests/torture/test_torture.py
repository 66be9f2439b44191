"""A short form of each part of `make torture`: a few faults of each kind, and no harm."""

import time

import pytest

from tests.torture.__main__ import PARTS, missing
from tests.torture.scene import FAILURES

_TRIES = {
    **dict.fromkeys(("kills at writes", "I/O errors", "full disks", "no locks"), 4),
    **dict.fromkeys(("a server of a stranger", "a library of a stranger"), 12),
    "database": 1,
    "index": 12,
    "a database of a stranger": 2,
    "writers in a database": 1,
}
_PARTS = [
    pytest.param(part, marks=[pytest.mark.postgres] if "a database" in part else [])
    for part in PARTS
]
_FEW = 6
_SECONDS = 60.0


@pytest.mark.parametrize("part", _PARTS)
def test_a_few_faults_do_no_harm(part: str, capsys: pytest.CaptureFixture[str]) -> None:
    if reason := missing(part):
        pytest.skip(reason)
    found = PARTS[part](_TRIES.get(part, _FEW), 7, time.monotonic() + _SECONDS)
    assert sum(counts.total() for counts in found.values()) > 0
    wrong = {kind: counts for kind, counts in found.items() if any(map(counts.get, FAILURES))}
    assert not wrong, capsys.readouterr().out
