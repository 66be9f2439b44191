"""Check that a release can be made: `make release-check`.

Builds wheel and sdist twice and compares the bytes; compares the files of both with those of the
repository; checks the metadata. Then installs the wheel into empty environments: with each extra,
with the lowest versions that are allowed (and runs tests on these), by uvx and by pipx. Each runs
the demo and opens a library of each earlier version. The bill of materials (CycloneDX) of the
locked versions is build/lpisearch-VERSION.cdx.json. With `--built` nothing is installed.
"""

from __future__ import annotations

import argparse
import email
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from email.message import Message

_ROOT = Path(__file__).parents[1]
_DIST = _ROOT / "dist"
_MOVED = {"migrations/": "lpisearch/_migrations/", "sample_corpus/": "lpisearch/_sample_corpus/"}
_MAN = "docs/lpisearch.1"
_EARLIER = sorted((_ROOT / "tests" / "data").glob("library-*.tar.xz"))
_LOCK = _ROOT / "constraints.txt"
# What runs with the lowest versions: the rooms that call most libraries.
_LOWEST = ("index", "readers", "search", "storage", "text", "web")
_DESELECTED = "not slow and not browser and not postgres and not cluster"
_MARKS = [perf_counter()]


class Failed(Exception):
    """Something is not fit for a release."""


def main() -> int:
    """Check everything, print what was checked, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--built", action="store_true", help="install nothing")
    parser.add_argument("--extra", action="append", help="only this extra (repeatable)")
    words = parser.parse_args()
    try:
        wheel, sdist = reproducible()
        check_wheel(wheel)
        check_sdist(sdist)
        extras = check_metadata(wheel)
        if not words.built:
            check_installed(wheel, words.extra or ["", *extras])
            if not words.extra:
                check_lowest(wheel, extras)
                check_runners(wheel)
                write_materials(wheel)
    except (Failed, subprocess.CalledProcessError) as error:
        told = (getattr(error, "stdout", "") or "") + (getattr(error, "stderr", "") or "")
        sys.stderr.write(f"Not fit for a release: {error}\n{told[-2000:]}")
        return 1
    return 0


def done(text: str) -> None:
    """Print what holds, and the time since the last such line."""
    _MARKS.append(perf_counter())
    print(f"ok {_MARKS[-1] - _MARKS[-2]:4.0f} s  {text}", flush=True)


def reproducible() -> tuple[Path, Path]:
    """Build twice, into dist/ and elsewhere, and compare the bytes."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = build(_DIST), build(Path(folder))
        for one, other in zip(first, second, strict=True):
            if one.read_bytes() != other.read_bytes():
                raise Failed(f"{one.name} differs between two builds")
            done(f"{one.name}: equal in two builds, sha256 {sha256(one.read_bytes()).hexdigest()}")
    return first[0], first[1]


def build(target: Path) -> list[Path]:
    """Build wheel and sdist; their files have the time of the last commit."""
    when = _git("log", "-1", "--format=%ct").strip()
    version = tomllib_version()
    words = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target), str(_ROOT)]
    environment = os.environ | {"SOURCE_DATE_EPOCH": when}
    subprocess.run(words, check=True, capture_output=True, text=True, env=environment)
    return [
        target / f"lpisearch-{version}-py3-none-any.whl",
        target / f"lpisearch-{version}.tar.gz",
    ]


def tomllib_version() -> str:
    """Return the version that the package states."""
    text = (_ROOT / "lpisearch" / "__init__.py").read_text(encoding="utf-8")
    return text.partition('VERSION = "')[2].partition('"')[0]


def check_wheel(wheel: Path) -> None:
    """Compare the files of the wheel with those of the package in the repository."""
    tracked = set(_git("ls-files", "lpisearch", *_MOVED).splitlines())
    expected = {_in_wheel(name) for name in tracked}
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    others = {name for name in names if ".dist-info/" in name or ".data/" in name}
    _same("wheel", names - others, expected)
    if not any(name.endswith("share/man/man1/lpisearch.1") for name in others):
        raise Failed("the wheel lacks the manual page")
    if not any(name.endswith("licenses/LICENSE") for name in others):
        raise Failed("the wheel lacks the licence")
    done(f"wheel: {len(expected)} files of the package, manual page, licence, nothing else")


def check_sdist(sdist: Path) -> None:
    """Compare the files of the sdist with the repository."""
    settings = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = settings["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    expected = set(_git("ls-files", *wanted).splitlines()) | {"pyproject.toml"}
    with tarfile.open(sdist) as archive:
        names = {one.name.partition("/")[2] for one in archive.getmembers() if one.isfile()}
    _same("sdist", names - {"PKG-INFO", ".gitignore"}, expected)
    done(f"sdist: {len(expected)} files of the repository, nothing else")


def check_metadata(wheel: Path) -> list[str]:
    """Check name, version, classifiers, description and extras; return the extras of users."""
    from trove_classifiers import classifiers

    with zipfile.ZipFile(wheel) as archive:
        name = next(one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        facts: Message = email.message_from_bytes(archive.read(name))
    stated = facts.get_all("Classifier", [])
    wrong = [one for one in stated if one not in classifiers]
    if wrong or not stated:
        raise Failed(f"unknown classifiers: {wrong}")
    for field in (
        "Name",
        "Version",
        "Summary",
        "Requires-Python",
        "License-Expression",
        "Keywords",
    ):
        if not facts.get(field):
            raise Failed(f"the metadata lack {field}")
    if facts["Description-Content-Type"] != "text/markdown" or not facts.get_payload():
        raise Failed("the description is not the README")
    if (
        f"## {facts['Version'].partition('.dev')[0]}" not in _changes()
        and ".dev" not in facts["Version"]
    ):
        raise Failed(f"CHANGELOG.md has no section of {facts['Version']}")
    extras = set(facts.get_all("Provides-Extra", []))
    if "all" not in extras:
        raise Failed("there is no extra “all”")
    done(f"metadata: {len(stated)} classifiers, extras {', '.join(sorted(extras))}")
    return sorted(extras)


def check_installed(wheel: Path, extras: list[str]) -> None:
    """Install the wheel with each extra into an empty environment, and use it there."""
    for extra in extras:
        with tempfile.TemporaryDirectory() as folder:
            scripts = install(Path(folder), f"{wheel}[{extra}]" if extra else str(wheel))
            _run([scripts / "python", "-m", "pip", "check"], Path(folder))
            check_use([scripts / "lpisearch"], Path(folder))
        done(f"installed{f' with [{extra}]' if extra else ''}: the demo runs, {_upgraded()}")


def install(home: Path, what: str, *options: str) -> Path:
    """Install into an empty environment by pip; return the folder of its programs."""
    venv.create(home / "venv", with_pip=True)
    scripts = home / "venv" / ("Scripts" if os.name == "nt" else "bin")
    pip = [scripts / "python", "-m", "pip", "install", "--quiet", "--no-compile"]
    _run([*pip, "--disable-pip-version-check", *options, what], home)
    return scripts


def check_use(program: list[Path | str], home: Path) -> None:
    """Run the demo, and open a library of each earlier version."""
    _run([*program, "demo"], home)
    for packed in _EARLIER:
        folder = home / packed.name.partition(".tar")[0]
        with tarfile.open(packed) as archive:
            archive.extractall(folder, filter="data")
        library = [*program, "--db", next(folder.rglob("*.db"))]
        status = json.loads(_run([*library, "status", "--json"], home))
        found = json.loads(_run([*library, "doctor", "--json"], home))
        if not status["documents"] or not found["ok"]:
            raise Failed(f"{packed.name} is not upgraded: {status}, {found}")


def check_lowest(wheel: Path, extras: list[str]) -> None:
    """Install the lowest versions that are allowed, use the program and run tests with them.

    Not `ir`, whose libraries are tested in an environment of their own.
    """
    named = ",".join(each for each in extras if each not in {"all", "ir"})
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        python = home / "venv" / "bin" / "python"
        lowest = home / "lowest.txt"
        _run([_tool("uv"), "venv", "--quiet", "--python", sys.executable, home / "venv"], home)
        words = ["--quiet", "--resolution", "lowest-direct", "--python", python, "-o", lowest]
        settings = home / "pyproject.toml"
        settings.write_bytes((_ROOT / "pyproject.toml").read_bytes())
        chosen = [each for extra in named.split(",") for each in ("--extra", extra)]
        _run([_tool("uv"), "pip", "compile", *words, *chosen, settings], home)
        pip = [
            _tool("uv"),
            "pip",
            "install",
            "--quiet",
            "--python",
            python,
            "--only-binary",
            ":all:",
        ]
        _run([*pip, "-r", lowest, "--group", f"{settings}:test"], home)
        _run([*pip, "--no-deps", wheel], home)
        check_use([home / "venv" / "bin" / "lpisearch"], home)
        _unpack_tree(home / "tree")
        rooms = [f"tests/unit/{room}" for room in _LOWEST]
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        words = [
            "-q",
            "-n",
            "auto",
            "-p",
            "no:cacheprovider",
            "-m",
            _DESELECTED,
            "tests/migrations",
        ]
        told = _run([python, "-m", "pytest", *words, *rooms], home / "tree", **threads)
        passed = told.strip().splitlines()[-1]
    done(f"installed with the lowest versions: the demo runs, {_upgraded()}; tests: {passed}")


def check_runners(wheel: Path) -> None:
    """Run the demo by uvx and by pipx, and install by pipx."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        check_use([_tool("uvx"), "--no-config", "--isolated", "--from", wheel, "lpisearch"], home)
    done("uvx --from WHEEL lpisearch demo")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        own = {"PIPX_HOME": str(home / "pipx"), "PIPX_BIN_DIR": str(home / "bin")}
        own |= {"PIPX_MAN_DIR": str(home / "man")}
        _run([_tool("pipx"), "run", "--spec", wheel, "lpisearch", "demo"], home, **own)
        _run([_tool("pipx"), "install", wheel], home, **own)
        check_use([home / "bin" / "lpisearch"], home)
        if not (home / "man" / "man1" / "lpisearch.1").exists():
            raise Failed("pipx install does not put the manual page in its place")
    done("pipx run --spec WHEEL lpisearch demo; pipx install WHEEL, with the manual page")


def write_materials(wheel: Path) -> None:
    """Write what the locked versions of [all] are made of, as CycloneDX; the tool validates it."""
    target = _ROOT / "build" / f"lpisearch-{tomllib_version()}.cdx.json"
    target.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        scripts = install(home, f"{wheel}[all]", "-c", str(_LOCK))
        _run([scripts / "python", "-m", "pip", "uninstall", "--quiet", "--yes", "setuptools"], home)
        listed = _run([scripts / "python", "-m", "pip", "list", "--format", "json"], home)
        words = ["environment", "--pyproject", _ROOT / "pyproject.toml", "--output-reproducible"]
        _run([_tool("cyclonedx-py"), *words, "-o", target, scripts / "python"], home)
    materials = json.loads(target.read_text(encoding="utf-8"))
    named = {_normal(each["name"]) for each in materials["components"]}
    wanted = {_normal(each["name"]) for each in json.loads(listed)} - {"lpisearch"}
    if wanted - named:
        raise Failed(f"the bill of materials lacks {sorted(wanted - named)}")
    unlicensed = [each["name"] for each in materials["components"] if not each.get("licenses")]
    done(
        f"{target.name}: {len(named)} components, without a stated licence: {unlicensed or 'none'}"
    )


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def _tool(name: str) -> Path:
    return Path(sys.executable).with_name(name)


def _upgraded() -> str:
    versions = [each.name.removeprefix("library-").partition(".tar")[0] for each in _EARLIER]
    return f"libraries of {', '.join(versions)} are upgraded"


def _unpack_tree(target: Path) -> None:
    """Write the tracked files without the package, so that tests import what is installed."""
    for name in _git("ls-files").splitlines():
        if not name.startswith("lpisearch/"):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(_ROOT / name, target / name)


def _run(words: list[Path | str], home: Path, **more: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | more
    own = {"XDG_CONFIG_HOME": str(home), "XDG_STATE_HOME": str(home), "XDG_CACHE_HOME": str(home)}
    ended = subprocess.run(
        [str(word) for word in words],
        cwd=home,
        env=kept | own,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    return ended.stdout


def _in_wheel(name: str) -> str:
    for folder, place in _MOVED.items():
        if name.startswith(folder):
            return place + name.removeprefix(folder)
    return name


def _same(kind: str, found: set[str], expected: set[str]) -> None:
    if found != expected:
        more, fewer = sorted(found - expected)[:5], sorted(expected - found)[:5]
        raise Failed(f"the {kind} has also {more} and lacks {fewer}")


def _changes() -> str:
    return (_ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def _git(*words: str) -> str:
    ended = subprocess.run(
        ["git", *words],  # noqa: S607 (as the one who releases has it)
        cwd=_ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return ended.stdout


if __name__ == "__main__":
    sys.exit(main())
