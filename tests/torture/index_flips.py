"""Damage in the files of an index: it answers as before, or says that it is damaged."""

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import lpisearch
from tests.torture.kills import scene

_QUERIES = ("ship harbour", "bread number4", "record7 tide")


def run(tries: int, seed: int, until: float) -> dict[str, Counter[str]]:
    """Damage one file at a time; return what became of the answers, by kind of damage."""
    chance = random.Random(seed)  # noqa: S311 (places, not secrets)
    counts: dict[str, Counter[str]] = {name: Counter() for name in DAMAGES}
    with scene() as made:
        expected = _answers(made.copy("tried"))[0]
        for number in range(tries):
            if time.monotonic() > until:
                break
            library = made.copy("tried")
            if number % 2:
                _answers(library)  # so that the files were found whole before
            kind = chance.choice(sorted(DAMAGES))
            folder = library.parent / "library.index"
            files = sorted(path for path in folder.rglob("*") if path.is_file())
            DAMAGES[kind](chance.choice(files), chance)
            outcome = _outcome(library, expected)
            counts[kind][outcome.split(":")[0]] += 1
            if ":" in outcome:
                print(f"{kind}, try {number}: {outcome}")  # noqa: T201 (a person watches)
    return counts


def _outcome(library: Path, expected: object) -> str:
    try:
        answers, notes = _answers(library)
    except lpisearch.LpiSearchError:
        return "found"
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what is looked for)
        return f"unstated: {type(error).__name__}: {error}"
    if any("damaged" in said or "lacks" in said or "newer" in said for said in notes):
        return "found"
    return "harmless" if answers == expected else "silent: other answers"


def _answers(library: Path) -> tuple[object, list[str]]:
    with lpisearch.open(library) as opened:
        found = [opened.search(text, by=by) for text in _QUERIES for by in ("semantic", "hybrid")]
        hits = [[(hit.id, round(hit.score, 6)) for hit in answer] for answer in found]
        labels = [(each.label, round(each.share, 6)) for each in opened.classify("ship").labels]
    return (hits, labels), [said for answer in found for said in answer.notes]


def _flip(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def _cut(path: Path, chance: random.Random) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: chance.randrange(len(data) + 1)])


def _swap(path: Path, chance: random.Random) -> None:
    other = chance.choice(sorted(each for each in path.parent.iterdir() if each.is_file()))
    first, second = path.read_bytes(), other.read_bytes()
    path.write_bytes(second)
    other.write_bytes(first)


def _remove(path: Path, _chance: random.Random) -> None:
    path.unlink()


DAMAGES: dict[str, Callable[[Path, random.Random], None]] = {
    "flip": _flip,
    "cut": _cut,
    "swap": _swap,
    "remove": _remove,
}
