"""Limits on the cost of one file, for all formats.

In goes the size of a file and what the user allows for a document; out come times and amounts of
memory. A large file may take longer than a small one, a file of which `max_document_bytes` was
raised may take more memory. What is promised of a file at the usual options, however it was made:
60 s of processor time and 1 GB, reading and storing together.
"""

from __future__ import annotations

from lpisearch.settings import MEBIBYTE, ReadOptions

READING_SECONDS = 30.0
"""Processor time for reading a small file."""

STORING_SECONDS = 10.0
"""Processor time beyond that, for cutting into words and storing."""

SECONDS_FOR_EACH_MEBIBYTE = 10.0
"""More for each MiB that a file takes on disk: a hundred times what an honest one needs."""

SILENT_SECONDS = 60.0
"""Time without any answer of a reader, whether it computes or waits."""

MEMORY_BYTES = 768 * MEBIBYTE
"""Address space of one worker."""

USUAL_DOCUMENT_BYTES = ReadOptions().max_document_bytes

IN_PROCESS_BYTES = MEBIBYTE
"""A plain file of a simple format up to this size is read without a worker."""

MOST_REMARKS = 1000
"""So many warnings of one file are passed on, and one that there are more."""

MOST_PROBLEMS = 10_000
"""A file is given up after so many records that cannot be read, unless more can."""

MOST_DIFFERENT_WORDS = 1_500_000
"""Of one document, or pairs of characters: FTS5 holds all of them at once, 200 bytes for each. The
complete works of an author have 30,000."""


def reading_seconds(file_bytes: int, base: float = READING_SECONDS) -> float:
    """Return the processor time that a reader may take for a file of this size."""
    return base + SECONDS_FOR_EACH_MEBIBYTE * (file_bytes // MEBIBYTE)


def total_seconds(file_bytes: int) -> float:
    """Return the processor time that reading and storing a file may take together."""
    return reading_seconds(file_bytes) + STORING_SECONDS


def memory_bytes(options: ReadOptions) -> int:
    """Return the address space of a worker: in proportion, where documents may be larger."""
    return max(MEMORY_BYTES, MEMORY_BYTES * options.max_document_bytes // USUAL_DOCUMENT_BYTES)
