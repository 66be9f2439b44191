"""The main language of a library, which counts where a text is too short to tell its own."""

from pathlib import Path

import lpisearch

_GERMAN = "Der Brief ist nicht von mir, und ich weiß nicht, wer ihn mir in das Haus gebracht hat."
_ENGLISH = "The letter is not from me, and I do not know who brought it to the house with the {}."


def _main(library: lpisearch.Library) -> str:
    return str(library.status()["language"])


def test_the_first_file_does_not_fix_the_language(tmp_path: Path) -> None:
    """What was too short to tell its language is read again when most documents have another."""
    first, later = tmp_path / "a.txt", tmp_path / "more"
    later.mkdir()
    first.write_text(_GERMAN, encoding="utf-8")
    short = tmp_path / "short.txt"
    short.write_text("Houses", encoding="utf-8")
    for number, word in enumerate(("boat", "oven", "wheel")):
        (later / f"{number}.txt").write_text(_ENGLISH.format(word), encoding="utf-8")
    with lpisearch.open(tmp_path / "library.db") as library:
        library.ingest(first, short)
        assert (_main(library), library.traits("short.txt").language) == ("german", "german")
        library.ingest(later)
        assert (_main(library), library.traits("short.txt").language) == ("english", "english")
        assert library.traits("a.txt").language == "german"
        assert [hit.id for hit in library.search("house", by="lexical")][:1] == ["short.txt"]


def test_a_few_documents_change_nothing(tmp_path: Path) -> None:
    with lpisearch.open(tmp_path / "library.db") as library:
        for number in range(3):
            (tmp_path / f"{number}.txt").write_text(_ENGLISH.format(f"word{number}"))
        library.ingest(*(tmp_path / f"{number}.txt" for number in range(3)))
        (tmp_path / "g.txt").write_text(_GERMAN, encoding="utf-8")
        library.ingest(tmp_path / "g.txt")
        assert _main(library) == "english"
        assert library.traits("g.txt").language == "german"
