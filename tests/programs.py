"""The command line as the tests call it, and the JSON that it prints."""

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from typer.testing import Result

Cli: TypeAlias = Callable[..., Result]


def json_of(done: Result, status: int = 0) -> Any:
    """Return the one JSON value that a command printed; it printed nothing else."""
    assert (done.exit_code, done.stderr) == (status, "")
    return json.loads(done.stdout)
