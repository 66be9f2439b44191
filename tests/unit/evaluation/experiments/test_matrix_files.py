from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from lpisearch.evaluation.cells import Cells
from lpisearch.evaluation.clustering import evaluate_cluster
from lpisearch.evaluation.collection import EvaluationInput, MatrixUnreadable, matrix_collection
from lpisearch.evaluation.similarity import evaluate_similarity
from lpisearch.options import ClusterOptions, EvaluateOptions, SimilarityOptions
from lpisearch.search.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from scipy.sparse import csr_array

_LABELS = ["x"] * 12 + ["y"] * 12 + ["z"] * 12
_TERMS = EvaluateOptions(methods=("terms",))


@pytest.fixture
def archive(counts: csr_array, tmp_path: Path) -> Callable[..., Path]:
    """Return a writer of .npz files; arrays may be replaced, or left out with None."""

    def write(**changed: Any) -> Path:
        arrays: dict[str, Any] = {
            "data": counts.data,
            "indices": counts.indices,
            "indptr": counts.indptr,
            "shape": counts.shape,
            "label": _LABELS,
        }
        path = tmp_path / "counts.npz"
        kept = {name: array for name, array in (arrays | changed).items() if array is not None}
        np.savez_compressed(path, **kept)
        return path

    return write


def _svmlight(counts: csr_array, path: Path) -> Path:
    """Write counts as svmlight does, the labels being numbers."""
    lines = []
    for row in range(counts.shape[0]):
        here = slice(counts.indptr[row], counts.indptr[row + 1])
        pairs = zip(counts.indices[here].tolist(), counts.data[here].tolist(), strict=True)
        lines.append(
            f"{row // 12} " + " ".join(f"{column + 1}:{count:g}" for column, count in pairs)
        )
    path.write_text("\n".join(lines) + "\n")
    return path


def _by_hand(counts: csr_array) -> float:
    """Compute AP over pairs by cosine from the definition."""
    X = counts.toarray()
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    first, second = np.triu_indices(len(X), 1)
    cosine = (X @ X.T)[first, second]
    relevant = np.array([_LABELS[i] == _LABELS[j] for i, j in zip(first, second, strict=True)])
    relevant = relevant[np.argsort(-cosine, kind="stable")]
    ranks = np.flatnonzero(relevant) + 1
    return float(np.mean(np.arange(1, len(ranks) + 1) / ranks))


def test_a_matrix_gives_what_its_counts_give_by_hand(
    archive: Callable[..., Path], counts: csr_array, tmp_path: Path
) -> None:
    expected = _by_hand(counts)
    for path in (archive(), _svmlight(counts, tmp_path / "counts.txt")):
        source = EvaluationInput.open(Session(Path("nowhere.db")), EvaluateOptions(matrix=path))
        (row,) = evaluate_similarity(source, _TERMS, SimilarityOptions(), Cells()).tables[0].rows
        assert row["AP"] == pytest.approx(expected, abs=2e-3)  # ties in cosines
        assert (row["documents"], row["dims"]) == (36, 40)


def test_what_is_read_is_what_was_written(archive: Callable[..., Path], counts: csr_array) -> None:
    collection = matrix_collection(archive())
    np.testing.assert_array_equal(collection.counts.toarray(), counts.toarray())
    assert collection.single_labels == _LABELS
    assert collection.weighting == "tf"


def test_svmlight_may_have_several_labels_or_none(tmp_path: Path) -> None:
    path = tmp_path / "multi.txt"
    path.write_text("1,2 1:1\n 2:1\n3.5 3:1\n")
    assert matrix_collection(path).labels == (("1", "2"), (), ("3.5",))


def test_a_stored_zero_is_no_occurrence(archive: Callable[..., Path], counts: csr_array) -> None:
    data = counts.data.copy()
    data[: counts.indptr[2]] = 0
    source = EvaluationInput.open(
        Session(Path("nowhere.db")), EvaluateOptions(matrix=archive(data=data))
    )
    table = evaluate_similarity(source, _TERMS, SimilarityOptions(), Cells()).tables[0]
    assert table.rows[0]["documents"] == 34
    assert table.notes == ("2 documents have no words (skipped).",)


def test_classes_are_found_in_a_matrix(archive: Callable[..., Path]) -> None:
    source = EvaluationInput.open(Session(Path("nowhere.db")), EvaluateOptions(matrix=archive()))
    table = evaluate_cluster(source, _TERMS, ClusterOptions(), Cells()).tables[0]
    assert (table.rows[0]["AC"], table.rows[0]["classes"]) == (1.0, 3)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-60])


def _garble(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[60:90] = b"\x55" * 30
    path.write_bytes(bytes(content))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"label": None}, "it lacks the array label"),
        ({"label": None, "shape": None}, "it lacks the array shape, label"),
        ({"label": _LABELS[1:]}, "36 documents, but 35 labels"),
        ({"label": np.array([{}] * 36, dtype=object)}, "allow_pickle"),
        ({"data": np.array([object()] * 3, dtype=object)}, "allow_pickle"),
        ({"shape": np.array([36])}, "its shape is not two numbers"),
        ({"shape": np.array([36, 10**12])}, "too many to count"),
        ({"shape": np.array([0, 40]), "indptr": np.array([0]), "label": []}, "no documents"),
        ({"indptr": np.array(3)}, "1-D"),
        ({"indices": np.array([99] * 3)}, ""),
        ({"data": np.array(["a"] * 3)}, ""),
    ],
    ids=lambda value: value if isinstance(value, str) else "+".join(value),
)
def test_arrays_that_are_no_matrix_are_stated(
    archive: Callable[..., Path], changed: dict[str, Any], said: str
) -> None:
    path = archive(**changed)
    with pytest.raises(MatrixUnreadable) as caught:
        matrix_collection(path)
    assert caught.value.what.startswith(f"{path}: ")
    assert said in caught.value.what


@pytest.mark.parametrize(
    ("number", "said"),
    [(-1.0, "negative"), (np.nan, "not finite"), (np.inf, "not finite"), (1j, "complex")],
)
def test_numbers_that_count_nothing_are_stated(
    archive: Callable[..., Path], counts: csr_array, number: complex, said: str
) -> None:
    data = counts.data.astype(type(number))
    data[3] = number
    with pytest.raises(MatrixUnreadable, match=said):
        matrix_collection(archive(data=data))


@pytest.mark.parametrize("harm", [_cut, _garble])
def test_a_damaged_archive_is_stated(archive: Callable[..., Path], harm: Any) -> None:
    path = archive()
    harm(path)
    with pytest.raises(MatrixUnreadable):
        matrix_collection(path)


@pytest.mark.parametrize(
    "text", ["", "hello world\n", "1 99999999999:1\n", "1 1:nan\n", "1 -1:1\n", "1 1:1 1:2\n", "\0"]
)
def test_a_file_that_is_no_svmlight_is_stated(tmp_path: Path, text: str) -> None:
    path = tmp_path / "garbage.txt"
    path.write_text(text)
    with pytest.raises(MatrixUnreadable, match=r"garbage\.txt"):
        matrix_collection(path)


def test_a_folder_and_nothing_are_stated(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing.npz"):
        with pytest.raises(MatrixUnreadable):
            matrix_collection(path)
