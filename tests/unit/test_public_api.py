import pytest

import lpisearch


def test_all_is_true() -> None:
    assert len(set(lpisearch.__all__)) == len(lpisearch.__all__)
    assert all(getattr(lpisearch, name) is not None for name in lpisearch.__all__)
    assert dir(lpisearch) == sorted([*lpisearch.__all__, "__version__"])


def test_every_public_name_is_documented() -> None:
    assert all((getattr(lpisearch, name).__doc__ or "").strip() for name in lpisearch.__all__)


def test_other_names_do_not_exist() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = lpisearch.nonsense
