"""A user's own encoder: what is kept of it, and what it adds to a score."""

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import lpisearch
from lpisearch.errors import EncoderFailed
from lpisearch.index import build
from lpisearch.model.documents import IngestReport
from lpisearch.options import SearchOptions
from lpisearch.search import ranking
from lpisearch.text.encoders import PROBE, Encoding
from tests.encoders import Noise, Synonyms
from tests.indexing import open_index
from tests.samples import copy_library, records_of_topics

QUERY = "a ship in the storm"


@pytest.fixture
def own(shared: Callable[..., Path], tmp_path: Path) -> Path:
    """Return a library of 120 records with an index, but no encoder."""
    return copy_library(shared("records-to-encode", _make), tmp_path)


def _make(folder: Path) -> None:
    chance = random.Random(7)  # noqa: S311 (texts, not secrets)
    words = [word for record in records_of_topics() for word in record["text"].split()]
    with (folder / "records.jsonl").open("w", encoding="utf-8") as file:
        for number in range(120):
            own = chance.choices(chance.sample(words, 6), k=40)
            file.write(json.dumps({"id": str(number), "text": " ".join(own)}) + "\n")
    with lpisearch.open(folder / "library.db") as library:
        library.ingest(folder / "records.jsonl")
    built(folder / "library.db", None)


def built(path: Path, encoder: Encoding | None, **options: Any) -> dict[str, Any]:
    with lpisearch.open(path, encoder=encoder) as library:
        return library.index("lsi", dims=8, train="none", **options).encoder


def found(path: Path, encoder: Encoding | None = None, **options: Any) -> lpisearch.Answer:
    with lpisearch.open(path, encoder=encoder) as library:
        return library.search(QUERY, **options)


def test_passages_are_encoded_once_and_searched_by(own: Path) -> None:
    encoder = Synonyms()
    facts = built(own, encoder)
    assert facts["weight"] > 0
    assert len(encoder.encoded) >= len(open_index(own).document_rows)
    again = Synonyms()
    assert built(own, again) == facts
    assert again.encoded == [PROBE]
    answer = found(own, again)
    assert not answer.notes
    hit = answer.hits[0]
    assert hit.encoder is not None
    with lpisearch.open(own, encoder=again) as library:
        reason = library.reason(QUERY, hit.id)
    assert reason.legs[-1] == hit.encoder
    assert sum(leg.share for leg in reason.legs) == pytest.approx(hit.score, abs=1e-4)
    with lpisearch.open(own, encoder=again) as library:
        ((_, run),) = library.batch([("1", QUERY)])
    assert [name for name, _ in run] == [one.id for one in answer.hits]


def test_without_the_encoder_results_are_as_ever(own: Path) -> None:
    before = found(own)
    built(own, Synonyms())
    assert found(own, Synonyms(), no_encoder=True) == before
    unset = found(own)
    assert unset.hits == before.hits
    assert "synonyms" in str(unset.notes[0])


def test_an_encoder_that_hides_what_words_find_does_not_count(own: Path) -> None:
    before = found(own)
    assert built(own, Noise())["weight"] == 0
    assert found(own, Noise()) == before


def test_an_interrupted_encoding_resumes(own: Path) -> None:
    class Failing(Synonyms):
        def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
            if len(self.encoded) > 60:
                raise MemoryError
            return super().documents(texts)

    failing, whole = Failing(), Synonyms()
    with pytest.raises(EncoderFailed, match="MemoryError"):
        built(own, failing)
    built(own, whole)
    assert len(failing.encoded) > 60
    assert not {*failing.encoded} & {*whole.encoded} - {PROBE}


def test_another_model_of_the_same_name_is_noticed(own: Path) -> None:
    before = found(own)
    built(own, Synonyms())
    other = Synonyms(salt="other")
    answer = found(own, other)
    assert answer.hits == before.hits
    assert "another model" in str(answer.notes[0])
    assert "not of “else”" in str(found(own, Synonyms("else")).notes[0])
    built(own, other)
    assert len(other.encoded) > len(open_index(own).document_rows)
    assert not found(own, other).notes


def test_candidates_alone_are_encoded(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "SAMPLE", 110)
    monkeypatch.setattr(ranking, "CANDIDATES", 10)
    encoder = Synonyms()
    facts = built(own, encoder, encode="candidates")
    assert (facts["way"], facts["weight"] > 0) == ("candidates", True)
    encoder.encoded.clear()
    answer = found(own, encoder, k=20)
    new = len(encoder.encoded)
    assert new <= 1 + 10  # the probe
    shares = [hit.encoder.share for hit in answer.hits if hit.encoder is not None]
    assert shares[10:] == [min(shares)] * 10  # so that none comes before the candidates
    found(own, encoder)
    assert encoder.encoded[new:] == [PROBE]


def test_documents_that_come_later_have_the_mean(
    own: Path, folder: Callable[..., Path], ingest: Callable[..., IngestReport]
) -> None:
    built(own, Synonyms())
    ingest(folder({"new.txt": "A new ship in a storm."}), into=own)
    answer = found(own, Synonyms(), k=100)
    points = {hit.id: hit.encoder.points for hit in answer.hits if hit.encoder is not None}
    assert points["new.txt"] == 0
    assert max(points.values()) > 0


def test_a_library_never_leads_to_an_encoder(own: Path) -> None:
    built(own, Synonyms("os:abort"))
    (own.parent / "lpisearch.toml").write_text('encoder = "os:abort"\n', encoding="utf-8")
    assert "os:abort" in str(found(own).notes[0])
    from lpisearch.config import own_encoder

    assert own_encoder() is None


def test_no_option_of_a_search_names_an_encoder() -> None:
    from lpisearch.model.fields import fields_of
    from lpisearch.options import OPTION_CLASSES

    names = {one.name for options in OPTION_CLASSES for one in fields_of(options)}
    assert SearchOptions().no_encoder is False
    assert "encoder" not in names
