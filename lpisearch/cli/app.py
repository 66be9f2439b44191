"""The program: its group of verbs, its global options, and where errors become messages."""

from __future__ import annotations

import math
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from lpisearch import __version__
from lpisearch.cli.commands import (
    Database,
    Debug,
    HelpAll,
    VerbGroup,
    explain_refusal,
    is_all_help,
    is_debugging,
    load,
    verb_under_way,
)
from lpisearch.cli.failures import (
    INTERRUPTED,
    OutputFailed,
    give_up_output,
    stated,
    stopped,
    was_interrupted,
)
from lpisearch.cli.output import note, render_message, say
from lpisearch.cli.verbs import ALIASES, FIRST, VERBS, meant_by
from lpisearch.errors import BadOption
from lpisearch.messages import printable

if TYPE_CHECKING:
    from collections.abc import Iterator


UNEXPECTED = 1
_LEAST_MEMORY = 280e6
"""With less, OpenBLAS crashes or hangs while it is loaded."""
_MAX_MESSAGE = 2000
_HELP = "help"
_COMPLETION = {"install_completion", "show_completion"}


class Verbs(VerbGroup):
    """The verbs in the order of a first visit; errors become messages here."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 (Click asks so)
        """Return the names of the verbs."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 (Click asks so)
        """Import one verb."""
        return load(cmd_name) if cmd_name in VERBS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of verbs without importing them."""
        purposes = [(name, verb.purpose) for name, verb in VERBS.items()]
        with formatter.section("Commands"):
            formatter.write_dl(purposes[: len(FIRST)])
        rest = purposes[len(FIRST) :]
        with formatter.section("More commands"):
            if is_all_help(ctx):
                formatter.write_dl(rest)
            else:
                formatter.write_text(", ".join(name for name, _ in rest))
        if is_all_help(ctx):
            with formatter.section("Other names"):
                formatter.write_dl([(name, " ".join(verb)) for name, verb in ALIASES.items()])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write where to read on."""
        if not is_all_help(ctx):
            with formatter.section("More help"):
                formatter.write_dl(
                    [
                        ("lpisearch help COMMAND", "The options and examples of one command."),
                        ("lpisearch --help-all", "Every command."),
                    ]
                )

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a verb, also by another name; of one that is mistyped, suggest the nearest."""
        while args[0] == _HELP:
            if ctx.resilient_parsing:  # completion
                return (None, None, []) if len(args) == 1 else self.resolve_command(ctx, args[1:])
            args = [*args[1:], "--help"] if args[1:] else [_HELP]
            if args == [_HELP]:
                say(ctx.get_help())
                raise typer.Exit
        name, *rest = args
        args = [*ALIASES.get(name, (name,)), *rest]
        try:
            return super().resolve_command(ctx, args)
        except typer.Exit:
            raise
        except Exception as error:
            meant = meant_by(name)
            if meant and _is_usage(error):
                error.message += f" Did you mean '{meant}'?"  # type: ignore[attr-defined]
            raise

    def make_context(self, *words: Any, **settings: Any) -> Any:
        """Parse the command line, with errors and Ctrl-C reported."""
        parameters: list[Any] = self.params
        for parameter in parameters:
            parameter.hidden = str(parameter.name) in _COMPLETION
        with _stated():
            return super().make_context(*words, **settings)

    def invoke(self, ctx: Any) -> Any:
        """Run the verb; turn what it raises into a message and an exit status."""
        with _stated(ctx):
            if _address_space() < _LEAST_MEMORY:
                raise MemoryError
            done = super().invoke(ctx)
            sys.stdout.flush()  # while a failure can still be reported
            return done


@contextmanager
def _stated(ctx: Any = None) -> Iterator[None]:
    try:
        yield
    except (typer.Exit, typer.Abort, BrokenPipeError):
        raise
    except (Exception, KeyboardInterrupt) as error:
        if isinstance(error, OutputFailed):
            give_up_output()
        if _is_usage(error):
            _make_harmless(error)
            raise
        if was_interrupted(error):
            note(stopped(ctx))
            raise SystemExit(INTERRUPTED) from None
        if is_debugging(ctx):
            raise
        _report(error, ctx)


def _report(error: BaseException, ctx: Any) -> NoReturn:
    known = stated(error, verb_under_way(ctx))
    if known is None:
        note(
            f"Error: Unexpected failure ({type(error).__name__}: {_short(str(error))}). Next: "
            "run the command again with --debug and report the output"
        )
        raise SystemExit(UNEXPECTED) from None
    if isinstance(known, BadOption) and ctx is not None:
        explain_refusal(known, ctx)
    note(f"Error: {_short(render_message(known.message))}")
    raise SystemExit(known.exit_status) from None


def _make_harmless(usage: BaseException) -> None:
    """Remove control characters from the message that Typer prints itself."""
    usage.message = _short(usage.message)  # type: ignore[attr-defined]


def _short(text: str) -> str:
    """Return a text as one harmless line; of a very long one, both ends."""
    line = printable(text)
    half = _MAX_MESSAGE // 2
    return line if len(line) <= _MAX_MESSAGE else f"{line[:half]} … {line[-half:]}"


def _is_usage(error: BaseException) -> bool:
    """Tell Typer's own errors (such as an unknown option), which it prints itself."""
    return hasattr(error, "exit_code")


def _address_space() -> float:
    """Return the limit of this process's address space in bytes."""
    try:
        import resource
    except ImportError:
        return math.inf
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return math.inf if limit == resource.RLIM_INFINITY else limit


app = typer.Typer(
    cls=Verbs,
    name="lpisearch",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # boxes would double the time that --help takes
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(value: bool) -> None:
    if value:
        say(f"lpisearch {__version__}")
        raise typer.Exit


@app.callback()
def lpisearch(
    db: Database = None,
    debug: Debug = False,
    help_all: HelpAll = False,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Search and classify your documents by meaning, on an ordinary computer."""
