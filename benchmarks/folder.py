"""How often the right page comes first on a real folder, next to FTS5 and Recoll.

Run: python benchmarks/folder.py [--cache FOLDER] [--large] [--each]

The folder is made of packages of a Debian system: manuals in HTML, text, PDF, man and info pages,
XML, source code, changelogs and licences, in several languages. `apt-get download` and `dpkg -x`
write them into the cache; nothing is installed, and the benchmark is skipped where there is no apt.

`folder_queries.tsv` has questions in a person's own words and identifiers, written from lists of
file names before the first search, with the pages that answer them. Every system searches the same
files with its default settings: FTS5 has the texts that our readers extract, stemmed, and any word
of the query; Recoll (skipped where it is not installed) reads the files itself, any word too.
Printed are how often a right page is the first, among 5 and among 10, and the mean reciprocal rank.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from lpisearch.library import Library, open_library

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Search = Callable[[str], Sequence[str]]

QUERIES = Path(__file__).with_name("folder_queries.tsv")
DEPTH = 20
PACKAGES = """
apache2-doc apt apt-doc aptitude-doc-en autoconf-doc bash-doc bind9-doc borgbackup-doc coreutils
cron cryptsetup-bin cups-server-common debian-faq debian-kernel-handbook debian-policy
debian-reference-de debian-reference-en debian-reference-fr debmake-doc developers-reference
diffutils-doc doc-debian e2fsprogs exim4-doc-html findutils fontconfig gimp-help-en git-doc
gnome-user-docs gnupg gpg grep groff gzip harden-doc installation-guide-amd64 iptables libc6-dev
login lvm2 manpages manpages-de manpages-dev manpages-es manpages-fr mdadm miscfiles mount nano
nfs-common openssh-client openssh-server passwd perl-doc postfix-doc postgresql-doc-15 procps
python-django-doc python-flask-doc python-requests-doc python3-networkx python3-requests
python3.11-doc rsync samba samba-common-bin sed sqlite3-doc systemd tar tmux ufw units util-linux
vim-runtime wget zsh-doc
""".split()  # noqa: SIM905 (79 names)
LARGE = """
ffmpeg-doc gettext-doc gimp-help-de gnuplot-doc libreoffice-help-de libreoffice-help-en-us
linux-doc-6.1 meson python-sqlalchemy-doc rust-doc
""".split()  # noqa: SIM905
# Kept of packages in dozens of languages.
LANGUAGES = {
    "gnome-user-docs": ("usr/share/help/*", {"C", "de", "fr"}),
    "harden-doc": ("usr/share/doc/harden-doc/html/*", {"en-US", "de-DE", "fr-FR"}),
    "installation-guide-amd64": (
        "usr/share/doc/installation-guide-amd64/*/",
        {"en", "de", "es", "fr"},
    ),
}


class Asked(NamedTuple):
    """A query and the pages that answer it, as patterns of paths."""

    kind: str
    text: str
    right: tuple[str, ...]

    def rank(self, paths: Iterable[str]) -> int:
        """Return the rank of the first right page, from 1; 0 if there is none."""
        for rank, path in enumerate(paths, 1):
            if any(fnmatch.fnmatchcase(f"/{path}", f"*/{pattern}") for pattern in self.right):
                return rank
        return 0


def main() -> None:
    """Make the folder, search it with every system, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = Path(tempfile.gettempdir()) / "lpisearch-folder"
    parser.add_argument("--cache", type=Path, default=default, help=f"(default: {default})")
    parser.add_argument("--large", action="store_true", help="with more packages, 50,000 files")
    parser.add_argument("--each", action="store_true", help="print the rank of each query")
    chosen = parser.parse_args()
    folder = make_folder(chosen.cache, PACKAGES + LARGE * chosen.large)
    queries = read_queries()
    with (
        tempfile.TemporaryDirectory(dir=chosen.cache) as scratch,
        open_library(Path(scratch) / "folder.db") as library,
    ):
        begun = time.perf_counter()
        library.ingest(folder)
        read = time.perf_counter()
        library.index()
        built = time.perf_counter() - read
        print(f"{len(library)} documents read in {read - begun:.0f} s, indexed in {built:.0f} s")
        systems: dict[str, Search] = {
            "lpisearch": _ours(library, folder, None),
            "lpisearch, lexical": _ours(library, folder, "lexical"),
            "lpisearch, semantic": _ours(library, folder, "semantic"),
            "FTS5, porter, any word": _fts5(library, folder, Path(scratch) / "fts5.db"),
        }
        if recoll := _recoll(folder, chosen.cache / f"recoll{'-large' * chosen.large}"):
            systems["Recoll, any word"] = recoll
        ranks = {
            name: [asked.rank(ask(asked.text)) for asked in queries]
            for name, ask in systems.items()
        }
    _print(queries, ranks, each=chosen.each)


def make_folder(cache: Path, packages: Sequence[str]) -> Path:
    """Download and unpack what is not there yet; return the folder of the packages."""
    apt, dpkg = shutil.which("apt-get"), shutil.which("dpkg")
    if apt is None or dpkg is None:
        raise SystemExit("skipped: the folder is made by apt-get and dpkg, which are not here")
    archives, folder = cache / "archives", cache / "-".join(("files", str(len(packages))))
    archives.mkdir(parents=True, exist_ok=True)
    folder.mkdir(exist_ok=True)
    missing = []
    for package in packages:
        if (folder / package).exists():
            continue
        if not (found := sorted(archives.glob(f"{package}_*.deb"))):
            command = [apt, "download", package]
            got = subprocess.run(command, cwd=archives, capture_output=True, text=True, check=False)
            if not (found := sorted(archives.glob(f"{package}_*.deb"))):
                missing.append(f"{package}: {got.stderr.strip().splitlines()[-1:]}")
                continue
        unpacked = folder / f".{package}"
        shutil.rmtree(unpacked, ignore_errors=True)
        subprocess.run([dpkg, "-x", found[-1], unpacked], check=True)
        _tidy(package, unpacked)
        unpacked.rename(folder / package)
    if len(missing) > len(packages) // 2:
        raise SystemExit("skipped: packages cannot be downloaded\n" + "\n".join(missing[:3]))
    for reason in missing:
        print(f"without {reason}")
    return folder


def _tidy(package: str, unpacked: Path) -> None:
    """Keep a few of dozens of languages; name Mallard pages as the XML that they are."""
    if package in LANGUAGES:
        pattern, kept = LANGUAGES[package]
        for path in unpacked.glob(pattern):
            if path.is_dir() and path.name not in kept:
                shutil.rmtree(path)
    for path in sorted(unpacked.rglob("*.page")):
        if path.is_file() and not path.is_symlink():
            path.rename(path.with_suffix(".xml"))


def read_queries() -> list[Asked]:
    """Return all queries."""
    _, *lines = QUERIES.read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    return [Asked(kind, text, tuple(right.split())) for kind, text, right in rows]


def _ours(library: Library, folder: Path, by: str | None) -> Search:
    def search(text: str) -> list[str]:
        answer = library.search(text, by=by, k=DEPTH)
        return [os.path.relpath(hit.path, folder) for hit in answer.hits]

    return search


def _fts5(library: Library, folder: Path, path: Path) -> Search:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "CREATE VIRTUAL TABLE pages USING fts5(path UNINDEXED, title, text, tokenize=porter)"
        )
        database.executemany(
            "INSERT INTO pages VALUES (?, ?, ?)",
            (
                (os.path.relpath(document.path, folder), document.title, document.text)
                for document in library
            ),
        )

    def search(text: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text))
        with closing(sqlite3.connect(path)) as database:
            return [
                found
                for (found,) in database.execute(
                    "SELECT path FROM pages WHERE pages MATCH ? ORDER BY rank LIMIT ?",
                    (words, DEPTH),
                )
            ]

    return search


def _recoll(folder: Path, settings: Path) -> Search | None:
    """Index the folder with Recoll's default settings, but for the folder and the priority."""
    if shutil.which("recollindex") is None or shutil.which("recollq") is None:
        print("without Recoll: recollindex and recollq are not installed (Debian: recollcmd)")
        return None
    settings.mkdir(exist_ok=True)
    (settings / "recoll.conf").write_text(f"topdirs = {folder}\nidxniceprio = 0\n", "utf-8")
    begun = time.perf_counter()
    command = ["recollindex", "-c", str(settings)]
    subprocess.run(command, capture_output=True, check=True)
    print(f"Recoll indexed in {time.perf_counter() - begun:.0f} s")

    def search(text: str) -> list[str]:
        command = ["recollq", "-c", str(settings), "-o", "-b", "-e", "-n", f"0-{DEPTH}", "--", text]
        got = subprocess.run(command, capture_output=True, text=True, check=True)
        urls = [line for line in got.stdout.splitlines() if line.startswith("file://")]
        return [os.path.relpath(unquote(urlsplit(url).path), folder) for url in urls]

    return search


def _print(queries: Sequence[Asked], ranks: dict[str, list[int]], *, each: bool) -> None:
    if each:
        print("\t".join((*ranks, "query")))
        for at, asked in enumerate(queries):
            print("\t".join((*(str(found[at] or "-") for found in ranks.values()), asked.text)))
    kinds = list(dict.fromkeys(asked.kind for asked in queries))
    counts = {kind: sum(asked.kind == kind for asked in queries) for kind in kinds}
    heads = [f"{counts[kind]} {kind}s @1 / 5 / 10, MRR" for kind in kinds]
    print(f"| | {' | '.join(heads)} |\n|---|{'---|' * len(kinds)}")
    for name, found in ranks.items():
        cells = []
        for kind in kinds:
            mine = [rank for asked, rank in zip(queries, found, strict=True) if asked.kind == kind]
            within = " / ".join(str(sum(0 < rank <= most for rank in mine)) for most in (1, 5, 10))
            cells.append(f"{within}, {fmean(1 / rank if rank else 0 for rank in mine):.3f}")
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
