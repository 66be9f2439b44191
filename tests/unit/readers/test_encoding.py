from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document
from lpisearch.options import ReadOptions
from lpisearch.readers.base import SourceFile
from lpisearch.readers.encoding import (
    NUL_REMOVED,
    clean,
    decode,
    decode_text,
    detect,
    looks_binary,
    text_chunks,
    utf8_chunks,
)
from lpisearch.readers.registry import reader_for

if TYPE_CHECKING:
    from pathlib import Path

CHINESE = "今天天气很好。我们去公园散步。信息检索是计算机科学的一个重要领域。"
RUSSIAN = "Сегодня хорошая погода, мы пошли гулять в парк."
FRENCH = "Le café est fermé, déjà vu – naïve façade."


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_byte_order_mark_decides(mark: bytes, encoding: str) -> None:
    decoded = decode_text(mark + CHINESE.encode(encoding), declared="cp1252")
    assert (decoded.text, decoded.encoding, decoded.warnings) == (CHINESE, encoding, ())


@pytest.mark.parametrize(
    ("text", "written", "found"),
    [
        (CHINESE, "utf-8", "utf-8"),
        (CHINESE, "gbk", "gb18030"),
        (RUSSIAN, "cp1251", "cp1251"),
        (RUSSIAN * 20, "koi8_r", "koi8_r"),
        ("今日は天気が良いので、公園を散歩しました。", "shift_jis", "cp932"),
        ("今日は天気が良いので、公園を散歩しました。", "euc_jp", "euc_jp"),
        ("北京是中华人民共和国的首都。", "gbk", "gb18030"),
        ("English first, then 中文信息检索 and more", "gbk", "gb18030"),
        ("這是一個測試檔案。", "big5", "big5"),
        ("오늘은 날씨가 좋아서 공원을 산책했습니다.", "euc_kr", "cp949"),
        ("«Москва» — столица", "cp1251", "cp1251"),
        ("Σήμερα είναι καλός καιρός", "cp1253", "cp1253"),
        ("สวัสดีชาวโลก วันนี้อากาศดี", "cp874", "cp874"),
    ],
)
def test_encoding_without_a_mark_is_detected(text: str, written: str, found: str) -> None:
    decoded = decode_text(text.encode(written))
    assert (decoded.text, decoded.encoding, decoded.warnings) == (text, found, ())
    assert decoded.metadata == ({} if found == "utf-8" else {"encoding": found})


@pytest.mark.parametrize("text", ["Straße, Größe, ÄÖÜ", "déjà vu", "“quoted” – text…", "größer"])
def test_latin_text_is_never_guessed(text: str) -> None:
    assert decode(text.encode("cp1252")).text == text


def test_latin_text_is_read_as_cp1252_with_a_warning() -> None:
    """The last resort is stated, since it may be wrong."""
    decoded = decode_text(FRENCH.encode("cp1252"))
    assert decoded.text == FRENCH
    assert decoded.metadata == {"encoding": "cp1252"}
    assert [warning.reason for warning in decoded.warnings] == ["not UTF-8; read as cp1252"]
    assert decoded.warnings[0].warning


def test_cp1252_has_an_answer_for_every_byte() -> None:
    assert decode(b"caf\xe9 \x81").text == "café \ufffd"


def test_broken_utf8_keeps_its_other_characters() -> None:
    decoded = decode_text(CHINESE.encode() + b"\xff" + FRENCH.encode())
    assert decoded.text == f"{CHINESE}\ufffd{FRENCH}"
    assert decoded.encoding == "utf-8"
    assert "broken UTF-8; damaged characters replaced: 1" in decoded.warnings[0].reason


def test_late_byte_decides() -> None:
    assert decode_text(b"plain words " * 50_000 + b"caf\xe9").encoding == "cp1252"


def test_declared_encoding_comes_before_guessing() -> None:
    assert decode(RUSSIAN.encode("cp1251")[:8], declared="windows-1251").text == RUSSIAN[:8]
    assert decode(b"\x93a\x94", declared="ISO-8859-1").text == "“a”"


@pytest.mark.parametrize("declared", ["", "no-such", "rot13", "hex", "unicode_escape", "\0"])
def test_useless_declaration_is_ignored(declared: str) -> None:
    assert decode("café".encode(), declared).text == "café"


@pytest.mark.parametrize(
    "data",
    [
        bytes(range(256)) * 4,
        b"\x7fELF\x02\x01\x01" + bytes(9),
        b"text" + bytes(500),
        b"\1\2\3\4\5",
        b"\0\1\2\3\0\xff",
    ],
)
def test_binary_data_is_refused(data: bytes) -> None:
    assert looks_binary(data)
    with pytest.raises(ReaderError, match="looks like binary data, not text"):
        decode_text(data)


def test_stray_nul_characters_are_removed_with_a_warning() -> None:
    decoded = decode_text(b"real\0 words\0 here\n" * 2 + b"and more of them " * 40)
    assert decoded.text.startswith("real words here\n")
    assert decoded.warnings == (NUL_REMOVED,)


def test_terminal_colours_are_text() -> None:
    assert not looks_binary(b"\x1b[31mred\x1b[0m\n" * 20)


@given(st.text(st.characters(exclude_categories=[])))
def test_clean_text_can_be_stored(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode()
    assert "\0" not in cleaned
    assert "\r" not in cleaned
    assert clean(cleaned) == cleaned


def test_surrogate_pair_is_joined() -> None:
    assert clean("\ud83d\ude00 \ud83d") == "😀 \ufffd"


def test_newlines_become_lf() -> None:
    assert clean("a\r\nb\rc\n") == "a\nb\nc\n"


def test_record_bytes_in_utf16_become_utf8(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes((CHINESE * 20_000).encode("utf-16"))
    assert b"".join(utf8_chunks(SourceFile.at(path))).decode() == CHINESE * 20_000
    path.write_bytes(b"\xef\xbb\xbfabc")
    assert b"".join(utf8_chunks(SourceFile.at(path))) == b"abc"


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"ascii " * 100_000 + "é".encode(), "utf-8"),
        (b"ascii " * 100_000 + b"caf\xe9", "cp1252"),
        (b"ascii\n" * 100_000 + (CHINESE + "\n").encode("gbk") * 9, "gb18030"),
        (CHINESE.encode("utf-16"), "utf-16-le"),
        ((CHINESE + "\n").encode() * 9000 + b"\xff", "utf-8"),
    ],
    ids=["utf-8", "cp1252", "gbk", "utf-16", "broken"],
)
def test_large_file_is_detected_chunk_by_chunk(data: bytes, encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(data)
    assert detect(SourceFile.at(path)).encoding == encoding


def test_text_of_chunks_is_cut_nowhere() -> None:
    data = "\ufeffä\r\n今\r".encode()
    pieces = [data[i : i + 1] for i in range(len(data))]
    assert "".join(text_chunks(pieces, "utf-8")).removeprefix("\ufeff") == "ä\n今\n"
    assert "".join(text_chunks([data], "utf-8")) == "ä\n今\n"


@pytest.mark.parametrize("suffix", ["sgm", "md", "html"])
def test_a_character_reference_of_thousands_of_digits(tmp_path: Path, suffix: str) -> None:
    text = f"boats &#{'9' * 5000}; and &#x{'9' * 5000}; ships &amp; &#65;"
    path = tmp_path / f"a.{suffix}"
    path.write_text(f"<REUTERS><TEXT>{text}</TEXT></REUTERS>" if suffix == "sgm" else text)
    source = SourceFile.at(path)
    reader = reader_for(source, ReadOptions())
    assert reader is not None
    (document,) = (one for one in reader.read(source, ReadOptions()) if isinstance(one, Document))
    assert document.text.startswith("boats")
    assert document.text.endswith("ships & A")
