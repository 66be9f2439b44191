"""Calibrate classifier scores into label probabilities.

The scores of one or more classifiers are each multiplied by a weight and added, and become shares
by exp(score) over the sum of these. With one classifier the weight is an inverse temperature.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]

# Where everything held out was right, no finite weight would be the best.
LARGEST_WEIGHT = 1000.0
_FIRST_WEIGHT = 5.0


def as_shares(scores: Floats) -> NDArray[np.float64]:
    """Turn rows of weighted scores into rows that sum to 1."""
    raised = np.asarray(scores, np.float64) - np.max(scores, axis=1, keepdims=True)
    powers = np.exp(raised)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def weighted(scores: Sequence[Floats], weights: Sequence[float]) -> Floats:
    """Add scores, each times its weight."""
    return np.asarray(sum(w * s for w, s in zip(weights, scores, strict=True)))


def surprise(shares: Floats, truth: Floats) -> float:
    """Return the mean negative logarithm of the shares that the true labels were given."""
    logarithms = np.log(np.maximum(shares, np.finfo(float).tiny))
    return float(-np.mean(np.sum(truth * logarithms, axis=1)))


def best_weights(scores: Sequence[Floats], truth: Floats) -> list[float]:
    """Choose the weights, none below 0, under which the truth is most probable.

    The truth is first moved a little towards equal shares, as if one further document had been
    any label: a few documents that were all right are no proof that all will be (Platt,
    Probabilistic outputs for support vector machines, 1999).

    Parameters
    ----------
    scores
        Of each classifier: documents that it had not seen x classes.
    truth
        Their labels as shares of each class.
    """
    from scipy.optimize import minimize

    count, n_classes = truth.shape
    moved = (count * truth + 1 / n_classes) / (count + 1)

    def surprise_and_slopes(weights: Floats) -> tuple[float, Floats]:
        shares = as_shares(weighted(scores, weights.tolist()))
        wrong = (shares - moved) / count
        return surprise(shares, moved), np.array([np.sum(wrong * each) for each in scores])

    # The surprise is a convex function of the weights, so there is one lowest point.
    solution = minimize(
        surprise_and_slopes,
        np.full(len(scores), _FIRST_WEIGHT),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, LARGEST_WEIGHT)] * len(scores),
    )
    return [float(weight) for weight in solution.x]
