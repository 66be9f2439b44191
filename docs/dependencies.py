"""Weigh the installed libraries, and write their sizes into docs/dependencies.md.

With `--check`, in `make check`, compare the names on the page, and the versions in constraints.txt,
with pyproject.toml alone: sizes differ between systems. With `--download NAME …`, print how many
packages pip would fetch for each, and their megabytes, on Linux with Python 3.13 (needs uv).
"""

from __future__ import annotations

import collections
import re
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

from packaging.requirements import Requirement
from packaging.tags import compatible_tags, cpython_tags
from packaging.utils import canonicalize_name, parse_wheel_filename

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/dependencies.md"
NAME = re.compile(r"[A-Za-z0-9._-]+")
ROW = re.compile(r"^\| `([^`]+)` \|[^|]*\|", re.MULTILINE)
LOCK = ROOT / "constraints.txt"
UNLOCKED = {"integrations"}  # groups that are installed as new as they are


def main() -> None:
    """Write or check."""
    if sys.argv[1:2] == ["--download"]:
        for name in sys.argv[2:]:
            sizes = download(name)
            print(f"{name}: {len(sizes)} packages, {sum(sizes) / 1e6:,.0f} MB")
        return
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project, groups = settings["project"], settings["dependency-groups"]
    needed = project["dependencies"]
    extras = project["optional-dependencies"]
    names = {NAME.match(each)[0].lower() for each in needed}  # type: ignore[index]
    names |= {f"[{extra}]" for extra in extras}
    text = PAGE.read_text(encoding="utf-8")
    listed = {found[1].lower() for found in ROW.finditer(text)}
    if names != listed:
        sys.exit(f"docs/dependencies.md differs from pyproject.toml: {sorted(names ^ listed)}")
    asked = [*needed, *(each for extra in extras.values() for each in extra)]
    asked += [each for name in groups.keys() - UNLOCKED for each in groups[name]]
    if unlocked := not_locked([each for each in asked if isinstance(each, str)]):
        sys.exit(f"constraints.txt does not fit pyproject.toml: {unlocked}\nNext: make lock")
    if sys.argv[1:] == ["--check"]:
        return
    base = closure(needed, {})

    def weight(found: re.Match[str]) -> str:
        name = found[1].lower()
        if name.startswith("["):
            named = re.findall(r"lpisearch\[(.*?)\]", " ".join(extras[name[1:-1]]))
            own = [one for each in named for one in each.split(",")] or [name[1:-1]]
            more = closure([one for extra in own for one in extras[extra]], dict(base))
            if len(more) == len(base):  # it is not installed
                return found[0]
            size = sum(more.values()) - sum(base.values())
        else:
            size = sum(closure([name], {}).values())
        return f"| `{found[1]}` | {size / 1e6:.1f} |"

    text = re.sub(r"\d+ MB in all", f"{sum(base.values()) / 1e6:.0f} MB in all", text)
    PAGE.write_text(ROW.sub(weight, text), encoding="utf-8")


def not_locked(requirements: list[str]) -> list[str]:
    """Return the requirements that no line of constraints.txt meets."""
    lines = LOCK.read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    locked = collections.defaultdict(set)
    for pin in pins:
        locked[canonicalize_name(pin.name)] |= {one.version for one in pin.specifier}
    wanted = [Requirement(each) for each in requirements if not each.startswith("lpisearch[")]
    return [
        str(each)
        for each in wanted
        if not any(map(each.specifier.contains, locked[canonicalize_name(each.name)]))
    ]


def download(name: str) -> list[int]:
    """Return the bytes of each package that an installation fetches."""
    words = [
        "uv",
        "pip",
        "compile",
        "--quiet",
        "--format",
        "pylock.toml",
        "--python-version",
        "3.13",
    ]
    words += ["--python-platform", "x86_64-manylinux_2_35"]
    source = [f"{ROOT}/pyproject.toml"] if name.startswith("lpisearch") else ["-"]
    source += [f"--extra={extra}" for extra in re.findall(r"lpisearch\[(.*)\]", name)]
    done = subprocess.run([*words, *source], input=name, check=True, capture_output=True, text=True)
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(length, tomllib.loads(done.stdout)["packages"]))


def length(package: dict[str, Any]) -> int:
    """Return the bytes of the file of a package that Linux would fetch."""
    systems = [*(f"manylinux_2_{n}_x86_64" for n in range(5, 36)), "manylinux2014_x86_64"]
    known = {*cpython_tags((3, 13), platforms=systems), *compatible_tags((3, 13), "cp313", systems)}
    files = [one["url"] for one in package.get("wheels", [])]
    fitting = [url for url in files if parse_wheel_filename(url.rpartition("/")[2])[3] & known]
    url = (fitting or [package.get("sdist", {}).get("url")])[0]
    with urlopen(Request(url, method="HEAD"), timeout=60) as answer:  # noqa: S310 (of the lock file)
        return int(answer.headers["Content-Length"])


def closure(
    requirements: list[str], sizes: dict[str, int], extras: Iterable[str] = ()
) -> dict[str, int]:
    """Add the sizes of installed libraries, and of what they need in turn on this system."""
    for requirement in map(Requirement, requirements):
        asked = [{"extra": extra} for extra in (*extras, "")]
        if requirement.marker and not any(map(requirement.marker.evaluate, asked)):
            continue
        name = canonicalize_name(requirement.name)
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            continue
        if name not in sizes or requirement.extras:
            sizes[name] = weigh(installed)
            closure(installed.requires or [], sizes, requirement.extras)
    return sizes


def weigh(installed: Distribution) -> int:
    """Return the bytes of the files of a library."""
    paths = (Path(str(installed.locate_file(file))) for file in installed.files or ())
    return sum(path.stat().st_size for path in paths if path.exists())


if __name__ == "__main__":
    main()
