from inspect import signature
from typing import Any

import numpy as np
import pytest

from lpisearch.methods.catalogue import CATALOGUE
from lpisearch.methods.parameters import OPTIONS, MethodOptions, make_method, settable, typed

_CHANCE = np.random.default_rng(0)
_X = np.abs(_CHANCE.normal(size=(12, 3)) @ _CHANCE.normal(size=(3, 9))).astype(np.float32)
_PAIRS = [(method, name) for method in CATALOGUE for name in settable(method)]
_CHOICES = [
    (method, name, choice)
    for method, name in _PAIRS
    for choice in settable(method)[name].choices
]  # fmt: skip


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_parameter_can_be_given(name: str) -> None:
    taken = set(signature(CATALOGUE[name].load()).parameters)
    assert taken == {*settable(name), *(taken & OPTIONS.keys())}


@pytest.mark.parametrize(("method", "name"), _PAIRS)
def test_a_default_is_a_value_that_can_be_set(method: str, name: str) -> None:
    default = signature(CATALOGUE[method].load()).parameters[name].default
    words = {True: "yes", False: "no", None: "none"}
    text = words[default] if default is None or isinstance(default, bool) else str(default)
    assert typed(method, {name: default}) == typed(method, {name: text}) == {name: default}


@pytest.mark.parametrize(("method", "name", "choice"), _CHOICES)
@pytest.mark.filterwarnings("ignore")
def test_every_choice_works(method: str, name: str, choice: str) -> None:
    options = MethodOptions(2, None, 3, 0, 2.0, settings={name: choice})
    estimator: Any = make_method(method, options, len(_X))
    assert estimator.fit(_X).n_components_ >= 1
    value = estimator.get_params()[name]
    assert value == (None if choice == "none" and name != "weighting" else choice)


@pytest.mark.parametrize(
    ("method", "name", "value"),
    [
        ("spg", "cardinality", "0"),
        ("spg", "cardinality", "2.5"),
        ("spg", "cardinality", None),
        ("spg", "cardinality", True),
        ("krlpi", "kernel", "cubic"),
        ("krlpi", "gamma", "0"),
        ("krlpi", "gamma", "nan"),
        ("plsi", "beta", "1.5"),
        ("lpp", "centred", "perhaps"),
        ("lpfl", "rho", ".5"),
        ("fsslpi", "max_iter", "inf"),
    ],
)
def test_a_value_that_cannot_work_is_refused(method: str, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{name} for {method} must be .* not “{value}”$"):
        typed(method, {name: value})


def test_settings_of_other_methods_are_passed_over() -> None:
    assert typed("lsi", {"cardinality": "5", "solver": "arpack"}) == {"solver": "arpack"}
