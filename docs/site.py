"""Build the documentation as a site (`make site`), or check that it can be built (`--check`).

The pages are those of docs/, with README, CONTRIBUTING, CHANGELOG and SECURITY. `docs/site.toml`
has the order. They are copied to build/pages, where their links to each other are made to fit and
links to other files of the project become text; Zensical, in an environment of its own, writes
build/site. Nothing of the site comes from elsewhere on the net.
"""

from __future__ import annotations

import fnmatch
import math
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS, BUILD = ROOT / "docs", ROOT / "build"
PAGES, SITE = BUILD / "pages", BUILD / "site"
# Pages of the top folder, under their names on the site.
TOP = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
# A page has at most so many screens of 960 pixels (a display of 1,080 lines without the frame of a
# browser), but for those that are looked up, not read.
SCREENS = 5
LONG = {
    "cli.md": "the help of every command, generated",
    "changelog.md": "every change of every version",
    "security.md": "every guarantee with its tests",
    "hostile-files.md": "every hostile file, with what became of it, printed by a benchmark",
    "scale.md": "tables for five sizes, printed by benchmarks",
    "results.md": "output of `make results`",
    "ranking-appendix.md": "every trial",
    "papers/*": "every table of a paper, printed by `make papers`",
}
HEIGHTS = {
    "heading": 58,
    "line": 26,
    "paragraph": 16,
    "code": 19,
    "row": 22,
    "picture": 520,
}  # pixels
HIDDEN = re.compile(r"<!--.*?-->|<details>.*?</details>", re.DOTALL)
ASSETS = {".png", ".svg", ".webp", ".json"}
LINK = re.compile(
    r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)"
)
ELSEWHERE = re.compile(r"""<(?:link|script|img|iframe)\b[^>]*?(?:href|src)="?(https?:)?//[^">]+""")


def main() -> None:
    """Build the site; without --check, say where it is."""
    staged = stage()
    write_index(staged)
    config = BUILD / "zensical.toml"
    shutil.copyfile(DOCS / "site.toml", config)
    lengths = {name: screens(text) for name, text in staged.items()}
    long = {
        name: round(length, 1)
        for name, length in lengths.items()
        if length > SCREENS and not any(fnmatch.fnmatch(name, each) for each in LONG)
    }
    if long:
        sys.exit(f"Pages of more than {SCREENS} screens, to be split or shortened: {long}")
    missing = staged.keys() - set(in_navigation(config))
    if missing:
        sys.exit(f"Pages that docs/site.toml does not list: {', '.join(sorted(missing))}")
    zensical = Path(sys.executable).with_name("zensical")
    command = [str(zensical), "build", "--clean", "--strict", "--config-file", str(config)]
    done = subprocess.run(command, cwd=BUILD, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    outside = [
        f"{page.relative_to(SITE)}: {found[0]}"
        for page in sorted(SITE.rglob("*.html"))
        for found in ELSEWHERE.finditer(page.read_text(encoding="utf-8"))
        if 'rel="canonical"' not in found[0]
    ]
    if outside:
        sys.exit("The site loads what lies elsewhere:\n" + "\n".join(outside))
    for name in (*staged, "llms.txt"):  # which lists the pages as they are written
        shutil.copyfile(PAGES / name, SITE / name)
    if sys.argv[1:] != ["--check"]:
        for name, length in sorted(lengths.items(), key=lambda each: each[1]):
            print(f"{length:5.1f} screens  {name}")
        print(f"{len(staged)} pages in {SITE}")


def stage() -> dict[str, str]:
    """Copy pages and pictures to build/pages; return the pages' texts by name."""
    shutil.rmtree(PAGES, ignore_errors=True)
    sources = {ROOT / name: target for name, target in TOP.items()}
    sources |= {page: str(page.relative_to(DOCS)) for page in sorted(DOCS.rglob("*.md"))}
    for page in sorted(DOCS.rglob("*")):
        if page.suffix in ASSETS:
            asset = PAGES / page.relative_to(DOCS)
            asset.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(page, asset)
    texts = {}
    for source, target in sources.items():
        texts[target] = with_links(source, target, sources)
        (PAGES / target).parent.mkdir(parents=True, exist_ok=True)
        (PAGES / target).write_text(texts[target], encoding="utf-8")
    return texts


def with_links(source: Path, target: str, sources: dict[Path, str]) -> str:
    """Return a page whose links lead to pages and pictures of the site, or are plain text."""

    def link(found: re.Match[str]) -> str:
        mark, words, path, part = found.groups()
        aim = Path(os.path.normpath(source.parent / path))
        if aim.is_dir() and aim / "README.md" in sources:
            aim /= "README.md"
        if aim in sources:
            there = sources[aim]
        elif aim.suffix in ASSETS and aim.is_relative_to(DOCS):
            there = str(aim.relative_to(DOCS))
        else:
            return f"{words} (`{aim.relative_to(ROOT)}`)" if aim.exists() else words
        near = os.path.relpath(there, Path(target).parent)
        return f"{mark}[{words}]({near}{part or ''})"

    return LINK.sub(link, source.read_text(encoding="utf-8"))


def screens(text: str) -> float:
    """Estimate the screens of a page, to a sixth of what a browser shows."""
    pixels, is_code = 0, False
    for block in re.split(r"\n\s*\n|\n(?=[-#|!`]|\d+\. )", HIDDEN.sub("", text)):
        lines = block.strip().splitlines()
        if is_code or not lines or lines[0].startswith("```"):
            pixels += HEIGHTS["code"] * len(lines)
            is_code ^= sum(line.startswith("```") for line in lines) % 2 == 1
            continue
        shown = len(re.sub(r"\]\([^)]*\)", "", " ".join(lines)))
        if lines[0].startswith("#"):
            pixels += HEIGHTS["heading"]
        elif lines[0].startswith("!["):
            pixels += HEIGHTS["picture"]
        elif lines[0].startswith("|"):
            pixels += (
                HEIGHTS["row"] + 20 * math.ceil(shown / 75) if set(lines[0]) - set("|:- ") else 0
            )
        else:
            pixels += HEIGHTS["paragraph"] + HEIGHTS["line"] * math.ceil(shown / 100)
    return pixels / 960


def in_navigation(config: Path) -> list[str]:
    """Return the pages that the configuration lists."""
    settings = tomllib.loads(config.read_text(encoding="utf-8"))

    def pages(entries: object) -> list[str]:
        if isinstance(entries, str):
            return [entries]
        below = entries.values() if isinstance(entries, dict) else entries
        return [page for entry in below for page in pages(entry)]  # type: ignore[attr-defined]

    return pages(settings["project"]["nav"])


def write_index(texts: dict[str, str]) -> None:
    """Write llms.txt: the pages, each with the first sentence of its text."""
    lines = ["# lpisearch", "", "> " + first_sentence(texts["index.md"]), ""]
    for name in in_navigation(DOCS / "site.toml"):
        title = re.search(r"^# (.+)$", texts[name], re.MULTILINE)
        about = first_sentence(texts[name])
        lines.append(f"- [{title[1] if title else name}]({name})" + (f": {about}" if about else ""))
    (PAGES / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def first_sentence(text: str) -> str:
    """Return the first sentence of the text of a page, without marks."""
    body = re.sub(r"<!--.*?-->|^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n", body):
        if paragraph.strip() and paragraph.lstrip()[0] not in "#|!<>-[":
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", " ".join(paragraph.split()))
            found = re.match(r".{30,}?[.:](?=\s|$)", plain)
            return found[0].rstrip(":") if found else plain
    return ""


if __name__ == "__main__":
    main()
