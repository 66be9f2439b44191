"""`lpisearch index --from FILES --out DIR`: build a sharded library from files.

Whoever works reads some files each and makes a library of them, a shard. Their documents are
counted together, one map is learned, and each shard gets its part of the index. What is finished
lies in the folder: a run that was killed goes on from the shards and steps that it had.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from lpisearch.compute.spread import map_parts
from lpisearch.errors import NothingToIndex, ShardsUnusable
from lpisearch.files import ANYONE, whole_file
from lpisearch.indexes.build import as_report, fit_corpus
from lpisearch.indexes.checking import check_options, with_typed_settings
from lpisearch.indexes.corpus import corpus_of
from lpisearch.indexes.folder import open_folder, publish
from lpisearch.indexes.index import SubspaceIndex
from lpisearch.indexes.kept_files import in_files
from lpisearch.indexes.partitions import Partitions
from lpisearch.indexes.projecting import Samples
from lpisearch.indexes.resuming import build_key
from lpisearch.indexes.shard_map import FILE, MOST_SHARDS, ShardEntry, ShardMap, shard_name
from lpisearch.indexes.sharding import Shared, cut_out, write_shard
from lpisearch.indexes.spreading import check_spread, spread_over
from lpisearch.indexes.stages import Stages
from lpisearch.indexes.verification import note_written
from lpisearch.ingest.ingesting import run_ingest
from lpisearch.ingest.remote import brought_here, find_files, need_parquet
from lpisearch.maintenance.joined import KEYS_A_SHARD, joined
from lpisearch.settings import IngestOptions
from lpisearch.storage import FIRST_KEY, TOKENISER, create_store, open_store
from lpisearch.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from lpisearch.indexes.workspace import Workspace
    from lpisearch.ingest.remote import RemoteFile
    from lpisearch.maintenance.joined import Joined
    from lpisearch.records import IndexReport
    from lpisearch.settings import IndexOptions
    from lpisearch.storage import Snapshot

_SHARD_BYTES = 1 << 29  # files of a shard together; a larger file is a shard by itself
_BUILD = ".build"
_MADE_ALONE = Lock()  # what makes tables is one for a process
_PLAN = "plan.json"


def index_files(
    source: str,
    folder: Path,
    options: IndexOptions,
    on_stage: Callable[[str], None] = lambda _name: None,
    on_step: Callable[[int, int], None] = lambda _done, _total: None,
) -> IndexReport:
    """Make a sharded library of files, with its index.

    Parameters
    ----------
    source
        A path, a folder, a glob or an address of files of JSON Lines or Parquet.
    folder
        The library: not there yet, or what a run with the same files and options has left.
    options
        What to build, and who does the work.
    on_stage, on_step
        As `build_index` calls them.

    Raises
    ------
    BadOption, NothingThere, NothingToIndex, ShardsUnusable, ClusterError, LibraryError
    """
    check_spread(options)
    check_options(options)
    files = find_files(source)
    if any(file.is_parquet for file in files):
        need_parquet()
    stages = Stages(on_stage, on_step)
    plans = _planned(files)
    _begin(folder, plans, options)
    with spread_over(options, folder, ANYONE) as spreading:
        with stages.stage("reading files"):
            made = _make_shards(folder, plans, on_step)
        libraries = [folder / shard_name(plan.number) for plan in plans]
        build = _Build(folder, libraries, made, stages)
        report = build.run(options, partitioned=spreading.reads_library)
    shutil.rmtree(folder / _BUILD, ignore_errors=True)
    failed = sum(each.failed for each in made)
    notes = [*report.notes, *spreading.notes, f"{counted(len(made), 'shard')} in {folder}"]
    lost = counted(failed, "record or file", "records or files")
    notes += [f"{lost} could not be read"] if failed else []
    return replace(report, notes=notes)


@dataclass(frozen=True, slots=True)
class _ShardPlan:
    """Which files become a shard."""

    number: int
    files: tuple[RemoteFile, ...]


@dataclass(frozen=True, slots=True)
class _Made:
    """How many documents a shard has, and how much could not be read."""

    documents: int
    failed: int


def _planned(files: Sequence[RemoteFile]) -> list[_ShardPlan]:
    """Share files out to shards in their order, so many bytes to each."""
    most = max(_SHARD_BYTES, 2 * sum(file.size for file in files) // MOST_SHARDS)
    groups: list[list[RemoteFile]] = []
    held = most
    for file in files:
        if held + file.size > most:
            groups.append([])
            held = 0
        groups[-1].append(file)
        held += file.size
    return [_ShardPlan(number, tuple(group)) for number, group in enumerate(groups)]


def _begin(folder: Path, plans: Sequence[_ShardPlan], options: IndexOptions) -> None:
    """Make the folder, or see that it holds what a run with the same files has left.

    Raises
    ------
    ShardsUnusable
    """
    if (folder / FILE).exists():
        raise ShardsUnusable(
            folder,
            "it already contains a sharded library",
            "choose a folder that does not exist yet",
        )
    content = json.dumps([asdict(plan) for plan in plans])
    key = sha256(content.encode()).hexdigest()  # addresses may hold what nobody is to read
    plan = folder / _BUILD / _PLAN
    if folder.is_dir() and any(folder.iterdir()):
        said = json.loads(plan.read_text(encoding="utf-8")) if plan.is_file() else {}
        if said.get("files") != key:
            reason = "it is not empty, or an earlier run used other files"
            raise ShardsUnusable(folder, reason, "choose a folder that does not exist yet")
        return
    plan.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(plan) as stream:
        stream.write(json.dumps({"files": key, "index": options.name}).encode())


def _make_shards(
    folder: Path, plans: Sequence[_ShardPlan], on_step: Callable[[int, int], None]
) -> list[_Made]:
    """Make all libraries: the first one finds the language, which all others have too."""
    first = _MakeShard(folder, None)(plans[0])
    on_step(1, len(plans))
    with open_store(folder / shard_name(0)) as store, store.reading() as snapshot:
        tokeniser = snapshot.settings.get(TOKENISER)
    made = [first]
    for each in map_parts(_MakeShard(folder, tokeniser), plans[1:]):
        made.append(each)
        on_step(len(made), len(plans))
    return made


@dataclass(frozen=True, slots=True)
class _MakeShard:
    """Reads the files of a shard into a library, which appears when it is whole."""

    folder: Path
    tokeniser: dict[str, Any] | None

    def __call__(self, plan: _ShardPlan) -> _Made:
        target = self.folder / shard_name(plan.number)
        own = self.folder / _BUILD / f"{plan.number:04}"
        note = self.folder / _BUILD / f"{target.name}.json"
        if target.is_file() and note.is_file():
            return _Made(**json.loads(note.read_text(encoding="utf-8")))
        shutil.rmtree(own, ignore_errors=True)
        own.mkdir(parents=True)
        library = own / target.name
        with _MADE_ALONE, create_store(library) as store, store.writing() as transaction:
            transaction.settings.set(FIRST_KEY, {"key": plan.number * KEYS_A_SHARD + 1})
            if self.tokeniser is not None:
                transaction.settings.set(TOKENISER, self.tokeniser)
        paths = [str(brought_here(file, own / "files")) for file in plan.files]
        report = run_ingest(library, paths, IngestOptions())
        made = _Made(report.added, report.failed)
        library.replace(target)
        with whole_file(note) as stream:
            stream.write(json.dumps(asdict(made)).encode())
        shutil.rmtree(own, ignore_errors=True)
        return made


@dataclass(frozen=True, slots=True)
class _Build:
    """The index of all shards."""

    folder: Path
    libraries: list[Path]
    made: list[_Made]
    stages: Stages

    def run(self, options: IndexOptions, *, partitioned: bool) -> IndexReport:
        """Learn one map, and write each shard its part."""
        spec = with_typed_settings(options.spec)
        if sum(each.documents for each in self.made) < 2:  # noqa: PLR2004 (the least to compare)
            raise NothingToIndex(
                "The files contain fewer than two documents.", "choose other files"
            )
        with joined(self.libraries) as documents:
            key = build_key(cast("Snapshot", documents), spec, Samples())
        scratch = self.folder / _BUILD
        with in_files(scratch, spec.name, key, ANYONE, self.stages.stage) as workspace:
            with joined(self.libraries) as documents:
                partitions = self._partitions(documents, spec.where) if partitioned else None
                snapshot = cast("Snapshot", documents)
                corpus = corpus_of(snapshot, spec, self.stages, partitions)
                index = fit_corpus(corpus, spec, self.stages, workspace)
            with self.stages.stage("writing shards"):
                self._write(index, workspace)
            return as_report(index, self.stages, self.folder, workspace.resumed)

    def _partitions(self, documents: Joined, where: Any) -> Partitions:
        each = [
            Partitions.of(library, where, snapshot)
            for library, snapshot in zip(self.libraries, documents.snapshots, strict=True)
        ]
        return Partitions.joined(each)

    def _write(self, index: SubspaceIndex, workspace: Workspace) -> None:
        scratch = self.folder / _BUILD
        files = workspace.files()
        in_memory = {name: each for name, each in index.arrays.items() if name not in files}
        linked = {name: path for name, path in files.items() if name in index.arrays}
        whole = publish(scratch, index.manifest, in_memory, linked, ANYONE)
        opened = SubspaceIndex(*open_folder(whole, verify=False))
        shared = Shared.of_index(whole, opened, scratch, len(self.libraries))
        work = _WriteShard(whole, shared)
        written = list(map_parts(work, list(enumerate(self.libraries))))
        for each in written:  # files that shards have in common change by every further link
            note_written(each)
        entries = [
            ShardEntry(shard_name(number), each.documents) for number, each in enumerate(self.made)
        ]
        ShardMap(tuple(entries), {index.manifest.name: shared.build}).write(self.folder)


@dataclass(frozen=True, slots=True)
class _WriteShard:
    """Cuts the part of a shard out of the index of all documents."""

    whole: Path
    shared: Shared

    def __call__(self, shard: tuple[int, Path]) -> Path:
        number, library = shard
        index = SubspaceIndex(*open_folder(self.whole, verify=False))
        first = number * KEYS_A_SHARD
        own = cut_out(index, first, first + KEYS_A_SHARD - 1)
        return write_shard(library, self.shared, number, own)
