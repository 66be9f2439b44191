"""Compare rules for choosing the strength of partial labels.

Run: python -m benchmarks.label_strength [--collections tdt2,…] [--shares 0.2,…] [--draws 3]

Tasks are those of `benchmarks.semi_supervised`. Every strength is judged on the 2,000 other
documents, and each rule chooses from what is held out of the labelled ones: the strength nearest to
1 that is not worse than the best by z standard errors, from one partition into five parts, or from
the mean of several. A gain is over the better of labels alone and neighbours alone.
"""

from __future__ import annotations

import argparse
import warnings
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.semi_supervised import (
    COLLECTIONS,
    SHARES,
    labelled_rows,
    share_right,
    task_of,
)
from lpisearch.methods.rlpi import RLPI, STRENGTHS, Both, Labelled, held_out, strength_of

if TYPE_CHECKING:
    from benchmarks.semi_supervised import Task
    from lpisearch.graphs.affinity import Floats

CLEAR = (0.0, 0.5, 1.0, 1.5, 2.0)
PARTITIONS = (1, 4)


class Judged(NamedTuple):
    """One draw of labels: the accuracy of each strength, and the strengths that rules choose."""

    collection: str
    share: float
    accuracy: tuple[float, ...]
    chosen: dict[tuple[int, float], float]

    def gain(self, rule: tuple[int, float]) -> float:
        """Return the accuracy of a rule above the better of the two ends, in points."""
        better = max(self.accuracy[0], self.accuracy[-1])
        return 100 * (self.accuracy[STRENGTHS.index(self.chosen[rule])] - better)


class _Observed(RLPI):
    """RLPI that keeps what the strength is chosen from, and counts both kinds alike."""

    def _strength(self, known: Labelled, alpha: float, rng: np.random.Generator) -> float:
        self.known, self.strength_alpha, self.rng = known, alpha, rng
        return 1.0


def main() -> None:
    """Print the gain of each rule by collection, and the worst cell (share and collection)."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--collections", default=",".join(COLLECTIONS))
    parser.add_argument("--shares", default=",".join(map(str, SHARES)), help="of labels")
    parser.add_argument("--draws", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    shares = [float(share) for share in options.shares.split(",")]
    judged: list[Judged] = []
    names = options.collections.split(",")
    for name in names:
        task = task_of(name)
        blind = RLPI(alpha="auto").fit(task.X, affinity=task.W)
        for share in shares:
            own = [_judged(name, task, blind, share, draw) for draw in range(options.draws)]
            judged += own
            means = np.mean([each.accuracy for each in own], axis=0)
            print(name, f"{share:.0%}", " ".join(f"{mean:.3f}" for mean in means),
                  {rule: [each.chosen[rule] for each in own] for rule in ((1, 2.0), (4, 1.0))},
                  flush=True)  # fmt: skip
    print("\n| partitions | z |", " | ".join(names), "| worst cell |")
    for rule in ((parts, clear) for parts in PARTITIONS for clear in CLEAR):
        cells = {
            (name, share): fmean(each.gain(rule) for each in judged if each[:2] == (name, share))
            for name in names
            for share in shares
        }
        gains = [fmean(cells[name, share] for share in shares) for name in names]
        worst = min(cells, key=lambda cell: cells[cell])
        print(f"| {rule[0]} | {rule[1]} |", " | ".join(f"{gain:+.2f}" for gain in gains),
              f"| {cells[worst]:+.2f} ({worst[0]}, {worst[1]:.0%}) |")  # fmt: skip


def _judged(name: str, task: Task, blind: RLPI, share: float, draw: int) -> Judged:
    rows = labelled_rows(task.labels, share, draw)
    some: list[Any] = [None] * len(task.labels)
    for row in rows:
        some[row] = task.labels[row]
    both: Any = _Observed(alpha="auto").fit(task.X, some)
    count = len(np.unique(task.labels[rows])) - 1
    A = both.components_.T * both.scales_
    accuracy = [share_right(task, rows, blind.embed)]
    for strength in STRENGTHS[1:]:
        map_of = Both((A[:, :count], np.ones(count)), (A[:, count:], np.ones(A.shape[1] - count)))
        own, _ = map_of.side_by_side(strength, None)
        accuracy.append(share_right(task, rows, lambda X, own=own: X @ own))
    seeds = (both.rng, *range(1, max(PARTITIONS)))
    right = [
        held_out(both.known, both.strength_alpha, np.random.default_rng(seed)) for seed in seeds
    ]
    chosen = {
        (parts, clear): _chosen(right[:parts], clear) for parts in PARTITIONS for clear in CLEAR
    }
    return Judged(name, share, tuple(accuracy), chosen)


def _chosen(right: list[Floats], clear: float) -> float:
    """Choose by the mean over partitions; a document held out several times counts once."""
    some = [each for each in right if each.shape[1]]
    if not some:
        return 1.0
    if len(some) == 1:
        return strength_of(some[0], clear)
    return strength_of(np.concatenate(some, axis=1), clear * len(some) ** 0.5)


if __name__ == "__main__":
    main()
