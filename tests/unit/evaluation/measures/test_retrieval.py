from __future__ import annotations

from typing import Any

import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from lpisearch.errors import BadOption
from lpisearch.evaluation.retrieval import Measure, parse_measures, query_coverage, score_run

_ORACLE = {
    "AP": "map",
    "AP@5": "map_cut_5",
    "nDCG": "ndcg",
    "nDCG@10": "ndcg_cut_10",
    "P@10": "P_10",
    "P@5": "P_5",
    "R@5": "recall_5",
    "R@100": "recall_100",
    "RR": "recip_rank",
}
_DOCUMENTS = ["d1", "d10", "d2", "D3", "é", "z", "Ω", "d-4", "d5", "d6", "d7", "d8", "😀", "￮"]
# Few different scores, some of which are the same in single precision only.
_SCORES = st.sampled_from([0.0, 1.0, 1.0 + 1e-12, 2.5, 16777216.0, 16777217.0, -3.0, 1e-30])
_RUNS = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.dictionaries(st.sampled_from(_DOCUMENTS), _SCORES, min_size=1),
    min_size=1,
)
# The oracle writes outside its tables for grades below 0, and then may never return.
_JUDGEMENTS = st.dictionaries(
    st.sampled_from(["q1", "q2", "q4"]),
    st.dictionaries(st.sampled_from(_DOCUMENTS), st.integers(0, 4), min_size=1),
    min_size=1,
)


def _measures(*names: str) -> list[Measure]:
    return parse_measures(names)


@settings(max_examples=200)
@given(run=_RUNS, judgements=_JUDGEMENTS)
def test_scores_equal_trec_eval(run: dict[str, Any], judgements: dict[str, Any]) -> None:
    lists = {query: list(documents.items()) for query, documents in run.items()}
    found = score_run(lists, judgements, _measures(*_ORACLE))
    oracle = pytrec_eval.RelevanceEvaluator(judgements, set(_ORACLE.values())).evaluate(run)
    for name, theirs in _ORACLE.items():
        expected = {query: scores[theirs] for query, scores in oracle.items()}
        assert found[name] == pytest.approx(expected, abs=1e-9), name


def test_five_documents_by_hand() -> None:
    run = {"q": [("a", 5), ("b", 4), ("c", 3), ("d", 2), ("e", 1)]}
    judged = {"q": {"a": 0, "b": 1, "d": 3, "x": 2, "c": -1}}
    names = ("AP", "AP@3", "P@2", "P@10", "R@3", "R@100", "RR", "RR@1", "nDCG@3")
    scores = {name: each["q"] for name, each in score_run(run, judged, _measures(*names)).items()}
    ideal = 3 + 2 / 1.5849625 + 1 / 2
    assert scores == pytest.approx(
        {
            "AP": (1 / 2 + 2 / 4) / 3,
            "AP@3": (1 / 2) / 3,
            "P@2": 1 / 2,
            "P@10": 2 / 10,
            "R@3": 1 / 3,
            "R@100": 2 / 3,
            "RR": 1 / 2,
            "RR@1": 0,
            "nDCG@3": (1 / 1.5849625) / ideal,
        }
    )


def test_grades_below_zero_count_as_zero() -> None:
    run = {"q": [("a", 3.0), ("b", 2.0), ("c", 1.0)]}
    measures = _measures(*_ORACLE)
    found = score_run(run, {"q": {"a": -2, "b": 2, "c": -1, "x": 1}}, measures)
    assert found == score_run(run, {"q": {"a": 0, "b": 2, "c": 0, "x": 1}}, measures)
    assert found["AP"] == {"q": 1 / 4}


def test_order_of_the_list_does_not_matter() -> None:
    forwards = [("a", 1.0), ("b", 1.0), ("c", 2.0)]
    for documents in (forwards, forwards[::-1]):
        assert score_run({"q": documents}, {"q": {"b": 1}}, _measures("RR"))["RR"] == {"q": 1 / 2}


def test_queries_of_one_side_only_are_told() -> None:
    run: dict[str, list[tuple[str, float]]] = {"q1": [("d", 1.0)], "q3": [("d", 1.0)], "q4": []}
    judged = {"q2": {"d": 1}, "q1": {"d": 1}, "q4": {"d": 1}}
    told = query_coverage(run, judged)
    assert (told.scored, told.missing, told.unjudged) == (("q1", "q4"), ("q2",), ("q3",))
    assert score_run(run, judged, _measures("AP", "P@1"))["AP"] == {"q1": 1.0, "q4": 0.0}


def test_a_query_without_relevant_documents_scores_zero() -> None:
    names = ("AP", "nDCG@10", "P@10", "R@100", "RR")
    for scores in score_run({"q": [("d", 1.0)]}, {"q": {"d": 0}}, _measures(*names)).values():
        assert scores == {"q": 0.0}


def test_a_document_twice_and_a_score_that_is_no_number_are_errors() -> None:
    judged = {"q7": {"d": 1}}
    with pytest.raises(ValueError, match="Query q7: document d is in the list twice"):
        score_run({"q7": [("d", 1.0), ("e", 0.5), ("d", 0.1)]}, judged, _measures("AP"))
    with pytest.raises(ValueError, match="Query q7: a score is not a number"):
        score_run({"q7": [("d", float("nan"))]}, judged, _measures("AP"))


def test_names_of_measures_are_read_and_written_alike() -> None:
    found = _measures("ap", "NDCG@10", "P@10", "nDCG@10", "r@100", "RR", "ap@20", "rr@10")
    names = ["AP", "nDCG@10", "P@10", "R@100", "RR", "AP@20", "RR@10"]
    assert [str(measure) for measure in found] == names
    assert found[1] == Measure("nDCG", 10)


def test_all_unknown_measures_are_named_at_once() -> None:
    with pytest.raises(BadOption) as caught:
        _measures("AP", "MAP", "P", "nDCG@0", "R@x", "RR@", "AP@٣")
    assert "MAP, P, nDCG@0, R@x, RR@, AP@٣" in caught.value.what
    assert "nDCG@K" in caught.value.next_step
    with pytest.raises(BadOption, match="names no measure"):
        _measures()
