"""The list of verbs: complete, and free of charge until one is asked for."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from lpisearch.cli.commands import VERBS, load

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_is_a_command_with_help(name: str) -> None:
    command = load(name)
    assert command.name == name
    assert command.help


def test_help_lists_every_verb(cli: Callable[..., Any]) -> None:
    printed = cli("--help").stdout
    for name, verb in VERBS.items():
        assert f"  {name.ljust(8)}  {verb.purpose}" in printed


def test_a_mistyped_verb_is_guessed(cli: Callable[..., Any]) -> None:
    result = cli("evaluat")
    assert result.exit_code == 2
    assert "Did you mean 'evaluate'?" in result.output


def test_a_verb_does_not_import_the_others() -> None:
    code = (
        "import sys\nfrom lpisearch.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([name for name in sys.modules if name.startswith('lpisearch.cli.')])"
    )
    for words, own in (((), set()), (("topics",), {"topics"})):
        run = [sys.executable, "-c", code, *words, "--help"]
        done = subprocess.run(run, capture_output=True, text=True, check=True)
        modules = set(done.stdout.splitlines()[-1].replace("'", "").strip("[]").split(", "))
        verbs = {f"lpisearch.cli.{verb.module}" for verb in VERBS.values()}
        assert modules & verbs == {f"lpisearch.cli.{name}" for name in own}
