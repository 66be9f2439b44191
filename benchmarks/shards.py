"""Memory of the regression on documents in files, beside that in memory, by number of documents.

Run: python benchmarks/shards.py [--documents 20000,80000,320000]

Every run is a process of its own, on random documents of 45 terms out of 20,000 and 50 responses in
a file; the peak is what the process held at most, files that are mapped meanwhile included.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.format import open_memmap
from scipy.sparse import csr_array, vstack

from lpisearch.compute.row_blocks import blocks
from lpisearch.compute.shards import Shards, ShardWriter
from lpisearch.projections.least_squares import ridge
from lpisearch.projections.streamed_ridge import streamed_ridge

if TYPE_CHECKING:
    from collections.abc import Iterator

N_TERMS, TERMS_A_DOCUMENT, RESPONSES, SHARD = 20_000, 45, 50, 5000
TOLERANCE = 0.03


def main() -> None:
    """Print a row for each number of documents."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--documents", default="20000,80000,320000")
    parser.add_argument("--one", choices=["files", "memory"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        _measure(options.one, options.folder)
        return
    print("documents   matrix MB   peak MB: files   memory   time: files / memory")
    for n_documents in map(int, options.documents.split(",")):
        with tempfile.TemporaryDirectory() as place:
            _write(Path(place), n_documents)
            size = sum(path.stat().st_size for path in Path(place).glob("*.npy")) / 1e6
            (files, seconds), (memory, usual) = (_run(kind, place) for kind in ("files", "memory"))
        ratio = seconds / usual
        print(f"{n_documents:9,} {size:11,.0f} {files:16,.0f} {memory:8,.0f} {ratio:13.1f}")


def _write(folder: Path, n_documents: int) -> None:
    """Write documents and their responses."""
    rng = np.random.default_rng(0)
    chance = 1 / np.arange(1, N_TERMS + 1)
    writer = ShardWriter(folder, N_TERMS)
    Y = open_memmap(folder / "Y.npy", "w+", np.float32, (n_documents, RESPONSES))
    for start in range(0, n_documents, SHARD):
        count = min(SHARD, n_documents - start)
        terms = rng.choice(N_TERMS, (count, TERMS_A_DOCUMENT), p=chance / chance.sum())
        indptr = np.arange(0, terms.size + 1, TERMS_A_DOCUMENT)
        weights = np.full(terms.size, TERMS_A_DOCUMENT**-0.5, np.float32)
        rows = csr_array((weights, terms.ravel(), indptr), shape=(count, N_TERMS))
        rows.sum_duplicates()
        writer.add(rows)
        Y[start : start + count] = rng.standard_normal((count, RESPONSES), np.float32)
    writer.finish()


def _run(kind: str, folder: str) -> tuple[float, float]:
    command = [sys.executable, __file__, "--one", kind, "--folder", folder]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    peak, seconds = map(float, said.split())
    return peak, seconds


def _measure(kind: str, folder: Path) -> None:
    rows = Shards.open(folder)
    Y = np.load(folder / "Y.npy", mmap_mode="r")
    began = time.process_time()
    if kind == "files":
        streamed_ridge(rows, Y, 1.0, tolerance=TOLERANCE)
    else:
        X = csr_array(vstack(list(_copies(rows)), format="csr"))
        ridge(X, np.array(Y), 1.0, tolerance=TOLERANCE)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(peak, time.process_time() - began)


def _copies(rows: Shards) -> Iterator[csr_array]:
    return (block.copy() for block in blocks(rows))


if __name__ == "__main__":
    main()
