"""Agreement of predicted and true label sets (multi-label)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lpisearch.evaluation.measures.labelling import Labelling, as_list

if TYPE_CHECKING:
    from lpisearch.evaluation.measures.labelling import Labels


class SetF1(NamedTuple):
    """F1 of sets of labels.

    Attributes
    ----------
    micro
        Over all pairs of document and label together, so that frequent labels count most.
    macro
        The mean of F1 over all labels, given or predicted; each counts alike.
    """

    micro: float
    macro: float


def set_f1(labels: Labels, predicted: Labels) -> SetF1:
    """Give F1 of the labels that were predicted for each document.

    Parameters
    ----------
    labels
        One for each document, or a list of them; documents without are left out.
    predicted
        A list of labels for each document, or one.

    Returns
    -------
    SetF1
        Each between 0 and 1.

    Raises
    ------
    ValueError
        If no document has a label, or the lengths differ.

    Examples
    --------
    >>> from lpisearch.evaluation import set_f1
    >>> found = set_f1([["a", "b"], ["a"], ["b"]], [["a"], ["a"], ["a"]])
    >>> round(found.micro, 4), round(found.macro, 4)
    (0.5714, 0.4)
    """
    if len(labels) != len(predicted):
        raise ValueError(f"There are {len(labels)} labels, but {len(predicted)} predictions.")
    given, guesses = as_list(labels), as_list(predicted)
    hits: dict[object, int] = {}
    there: dict[object, int] = {}
    for row in Labelling.of(labels).rows.tolist():
        own, said = _as_set(given[row]), _as_set(guesses[row])
        for name in (*own, *said):
            there[name] = there.get(name, 0) + 1
        for name in own & said:
            hits[name] = hits.get(name, 0) + 1
    each = [2 * hits.get(name, 0) / count for name, count in there.items()]
    return SetF1(2 * sum(hits.values()) / sum(there.values()), sum(each) / len(each))


def _as_set(labels: object) -> set[object]:
    return set(labels) if isinstance(labels, (list, tuple, set, frozenset)) else {labels}
