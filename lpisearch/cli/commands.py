"""The verbs: where each is, its class, its examples, and the options that all verbs share.

`--db` and `--debug` may precede the verb or follow it; the last one applies. A verb is imported
when it runs. An error that refuses a value names the help of the verb.
"""

from __future__ import annotations

import re
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from lpisearch.messages import Message, call

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lpisearch.config import Preferences
    from lpisearch.errors import BadOption
    from lpisearch.library import Library


_USUAL = "Options"
_UNDER_WAY = "lpisearch.verb"
_TYPE = re.compile(r" <[^<>]*>$")  # "TEXT <list[str]>": the Python type is of no use to readers


class _Verb:
    """The help of a verb or of a group of verbs."""

    def invoke(self, ctx: Any) -> Any:
        """Run the verb, and note that it is running."""
        ctx.meta[_UNDER_WAY] = ctx
        return super().invoke(ctx)  # type: ignore[misc]

    def write_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, options under their headings, and the global options last."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], _USUAL: []}
        shared: list[tuple[str, str]] = []
        for parameter in ctx.command.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            heading = getattr(parameter, "rich_help_panel", None) or _USUAL
            if parameter.param_type_name == "argument":
                groups["Arguments"].append((_TYPE.sub("", record[0]), record[1]))
            elif heading == EVERYWHERE or parameter.name == "help":
                shared.append(record)
            else:
                groups.setdefault(heading, []).append(record)
        for heading, records in {**groups, EVERYWHERE: shared}.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)

    def write_examples(self, ctx: Any, formatter: Any) -> None:
        """Write the examples."""
        examples = EXAMPLES.get(verb_of(ctx), ())
        if examples:
            with formatter.section("Examples"):
                for purpose, command in examples:
                    formatter.write_text(f"{purpose}:")
                    formatter.write(f"{'':{formatter.current_indent + 2}}lpisearch {command}\n")


class VerbCommand(_Verb, TyperCommand):
    """One verb."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options."""
        self.write_options(ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write examples."""
        self.write_examples(ctx, formatter)


class VerbGroup(_Verb, TyperGroup):
    """A verb with words of its own, such as `docs list`."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the words, arguments and options."""
        self.format_commands(ctx, formatter)
        self.write_options(ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write examples."""
        self.write_examples(ctx, formatter)


def verb_of(ctx: Any) -> str:
    """Return the words of the verb: "docs list"."""
    words: list[str] = []
    while ctx.parent is not None:
        words.insert(0, ctx.info_name)
        ctx = ctx.parent
    return " ".join(words)


def verb_under_way(ctx: Any) -> str:
    """Return the words of the verb that is running, or ""."""
    return "" if ctx is None or _UNDER_WAY not in ctx.meta else verb_of(ctx.meta[_UNDER_WAY])


def with_common_options(command: Any) -> Any:
    """Add the global options to a command and all commands below it."""
    for one in _all_of(command):
        one.params.extend(_common_options())
    return command


@cache
def _common_options() -> tuple[Any, ...]:
    holder = typer.Typer(add_completion=False)

    @holder.command()
    def everywhere(db: Database = None, debug: Debug = False) -> None:
        """Declare the options."""

    command: Any = typer.main.get_command(holder)
    return tuple(command.params)


def _all_of(command: Any) -> Iterator[Any]:
    yield command
    for below in getattr(command, "commands", {}).values():
        yield from _all_of(below)


def explain_refusal(error: BadOption, ctx: Any) -> None:
    """Add to an error the help of the verb, and the file that sets the wrong value."""
    ctx = ctx.meta.get(_UNDER_WAY, ctx)
    own = call("help", *verb_of(ctx).split())
    choices = error.next_step if error.next_step != call("help") else ""
    error.next_step = Message(choices, "  (", own, ")") if choices else own
    for origin in filter(None, (origin_of(ctx, name) for name in error.fields)):
        error.what = Message(error.what, f" It is set in {origin}.")


class Verb(NamedTuple):
    """A verb: its module, the function or Typer app in it, and one line for the list of verbs."""

    module: str
    name: str
    purpose: str


# In the order of a first visit.
VERBS: Mapping[str, Verb] = {
    "ingest": Verb("ingest", "ingest", "Add documents to the library."),
    "index": Verb("index", "index", "Build the index for search by meaning."),
    "query": Verb("query", "query_app", "Search by meaning and by words."),
    "similar": Verb("query", "similar", "Find documents similar to a given one."),
    "open": Verb("open", "open_", "Open a result of the last search."),
    "classify": Verb("classify", "classify", "Predict labels for text or files."),
    "label": Verb("docs", "label_app", "Add or remove labels by hand."),
    "topics": Verb("topics", "topics", "List the main topics in the library."),
    "evaluate": Verb("evaluate", "app", "Measure search and classification quality."),
    "status": Verb("db", "status", "Show the contents and state of the library."),
    "docs": Verb("docs", "app", "List, show, delete and export documents."),
    "doctor": Verb("db", "doctor", "Check the library for damage and suggest repairs."),
    "db": Verb("db", "app", "Upgrade, check and back up the library."),
    "config": Verb("settings", "app", "Show and change settings."),
    "serve": Verb("serve", "serve", "Serve the library as web pages and a JSON API."),
    "demo": Verb("serve", "demo", "Take a tour with the sample documents."),
}


def load(name: str) -> Any:
    """Import a verb and make a command of it."""
    verb = VERBS[name]
    app = getattr(import_module(f"lpisearch.cli.{verb.module}"), verb.name)
    if not isinstance(app, typer.Typer):
        function, app = app, typer.Typer(add_completion=False)
        app.command(name, cls=VerbCommand)(function)
    app.rich_markup_mode = None  # as for the program itself
    command: Any = typer.main.get_command(app)
    command.name = name
    return with_common_options(command)


# By verb: what for, and what is typed after "lpisearch".
EXAMPLES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "ingest": (
        ("Add a folder; its subfolder names become labels", "ingest notes --labels folder"),
        ("Add mail and tables to a separate library", "ingest mail.mbox *.csv --db work.db"),
        ("Update changed files and remove deleted ones", "ingest notes --prune"),
    ),
    "index": (
        ("Use the defaults", "index"),
        ("Build a second index with another method", "index --method lsi --dims 200 --name lsi"),
        ("Index only some documents", 'index --name mail --where "path=mail"'),
    ),
    "query": (
        ("Search in your own words", "query why does my bread stay flat"),
        ("Require a phrase and exclude a word", "query '\"rye bread\" -yeast'"),
        (
            "Search one folder from a month onwards, with explanations",
            "query tax --path 2024 --since 2024-05 --explain",
        ),
        (
            "Search titles, or for another word; newest first",
            "query 'title:tax OR fee' --sort date",
        ),
        ("Search interactively", "query"),
    ),
    "similar": (
        ("Similar to a document in the library, by id or path", "similar letters/june.txt"),
        ("Similar to any other file", "similar ~/Downloads/offer.pdf -k 3"),
    ),
    "open": (
        ("Open the third result of the last search", "open 3"),
        ("Open a document by path", "open letters/june.txt"),
    ),
    "classify": (
        ("Classify a text", 'classify "my chain slips on the smallest sprocket"'),
        ("Classify files, showing three labels each", "classify inbox/*.eml -k 3"),
        ("Save predicted labels for unlabelled documents", "classify --write --path inbox"),
        ("Remove them again", "classify --undo --path inbox"),
    ),
    "label": (
        ("Add one label, remove another", "label letters/june.txt notes.md +family -draft"),
        ("Label every document in a folder", "label --path invoices +money"),
        ("Accept a predicted label", "label --predicted sailing +sailing"),
    ),
    "topics": (
        ("Choose the number of topics automatically", "topics"),
        ("Show twelve topics with more words each", "topics -n 12 --terms 15"),
        ("Show the dimensions of a sparse model", "topics --method spg"),
    ),
    "evaluate": (
        ("Run every evaluation the labels allow", "evaluate"),
        (
            "Evaluate ranking too, and write an HTML report",
            "evaluate --queries q.tsv --qrels q.qrels --report page",
        ),
    ),
    "evaluate similarity": (
        (
            "Average over the documents with each of 20 frequent words",
            "evaluate similarity --words 20",
        ),
    ),
    "evaluate classify": (
        ("Train on 5% and 20% of the documents", "evaluate classify --train 5%,20%"),
        ("Compare selected methods", "evaluate classify --methods terms,lsi,rlpi"),
    ),
    "evaluate cluster": (
        (
            "Cluster two to ten classes, 20 random draws each",
            "evaluate cluster --classes 2..10 --draws 20",
        ),
    ),
    "evaluate retrieval": (
        ("Compare all ranking modes", "evaluate retrieval --queries q.tsv --qrels q.qrels"),
    ),
    "evaluate sweep": (
        (
            "Plot accuracy against the number of dimensions",
            "evaluate sweep classify --values 10,20,50,100",
        ),
        (
            "Plot clustering quality against the number of neighbours",
            "evaluate sweep cluster --over neighbours --values 5,15,30",
        ),
    ),
    "evaluate spectrum": (
        ("Show the eigenvalues used to choose the dimensions", "evaluate spectrum"),
    ),
    "serve": (
        ("Open in the browser, on this machine only", "serve --open"),
        ("Serve the sample documents only", "serve --demo"),
        ("Allow adding files from a folder", "serve --root ~/notes"),
        (
            "Serve read-only to others, who need the token in LPISEARCH_TOKEN",
            "serve --host 0.0.0.0 --name notes.example --read-only",
        ),
    ),
    "status": (
        ("Show the library in this folder", "status"),
        ("Print JSON for a script", "status --json"),
    ),
    "docs list": (
        ("List the first 20 documents with a label", "docs list --label sailing -n 20"),
        ("List documents in a folder", 'docs list --path "code docs"'),
    ),
    "docs show": (("Show the text and details of a document", "docs show letters/june.txt"),),
    "docs delete": (("Remove a document; its file stays on disk", "docs delete letters/june.txt"),),
    "docs export": (
        ("Export everything, to ingest elsewhere", "docs export all.jsonl"),
        ("Pipe some documents to another program", "docs export --label sailing | jq .title"),
    ),
    "doctor": (
        ("Check the library", "doctor"),
        ("Check the library and repair it", "doctor --repair"),
    ),
    "db upgrade": (("Upgrade before others open it read-only", "db upgrade"),),
    "db check": (("Check the schema", "db check"),),
    "db backup": (
        ("Write a dated copy next to the library", "db backup"),
        ("Write the copy somewhere else", "db backup /backup/notes.db"),
    ),
    "db vector": (("Get a query vector for SQL", "db vector morning swim"),),
    "db retokenise": (("Switch to another language", "db retokenise --language german"),),
    "config": (("Show all settings and their sources", "config"),),
    "config path": (("Show both config files", "config path"),),
    "config set": (
        ("Use one library from every folder", "config set library ~/notes/all.db"),
        ("Show 20 results by default", "config set k 20"),
        ("Change a setting for this library only", "config set index.method olpi --beside"),
    ),
    "config unset": (("Go back to the default", "config unset k"),),
    "demo": (("Keep the demo library", "demo ~/lpisearch-demo"),),
}


_SHORT = len("-k")
_MARK = "\N{INVISIBLE SEPARATOR}"
_EXCLUSION = re.compile(r"-[^\W_]|-[\"“„«(]")


class ExclusionsAsText(VerbCommand):
    """Takes -word for a word to exclude, which Click would read as an option of one letter.

    An argument of one minus and a letter, a digit, a quote or a parenthesis belongs to the query,
    unless it is a one-letter option, alone (-k) or with its number (-k5), or the value of the
    option before it. After -- everything is text. `words` names the argument that takes them.
    """

    words = "text"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, with exclusions marked so that Click does not take them for options."""
        flags = {name for option in self.params for name in option.opts if _is_flag(option)}
        short = {name for option in self.params for name in option.opts if len(name) == _SHORT}
        short.update(name for name in ctx.help_option_names if len(name) == _SHORT)
        flags.update(ctx.help_option_names)
        marked: list[str] = []
        is_value = False
        for at, word in enumerate(args):
            if word == "--":
                marked += args[at:]
                break
            excludes = not is_value and _EXCLUSION.match(word) and not _is_short(word, short)
            marked.append(_MARK + word if excludes else word)
            is_value = not is_value and _takes_value(word, flags)
        rest = super().parse_args(ctx, marked)
        words: list[str] = ctx.params.get(self.words) or []
        ctx.params[self.words] = [word.removeprefix(_MARK) for word in words]
        return rest


def _is_flag(option: Any) -> bool:
    return bool(getattr(option, "is_flag", False))


def _is_short(word: str, short: set[str]) -> bool:
    return word[:_SHORT] in short and (len(word) == _SHORT or word[_SHORT:].isdecimal())


def _takes_value(word: str, flags: set[str]) -> bool:
    """Tell whether the next word belongs to an option."""
    is_option = word.startswith("--") or (len(word) == _SHORT and word.startswith("-"))
    return is_option and "=" not in word and word not in flags


EVERYWHERE = "Global options"
"""The heading of the options that every verb has."""
_DEBUG, _ORIGINS = "lpisearch.debug", "lpisearch.origins"
# The verbs whose options a settings file sets, and the table of their keys.
_SETTABLE = {"query": "", "similar": "", "index": "index."}


class Invocation:
    """What every verb has in its context; the library and the settings open when first used."""

    def __init__(self, path: str | None) -> None:
        self._path = path

    @cached_property
    def library(self) -> Library:
        """The library that `--db`, the environment or the settings name."""
        from lpisearch.library import open_library

        return open_library(self._path)

    @cached_property
    def preferences(self) -> Preferences:
        """The settings of the user and of this library."""
        from lpisearch.config import read_preferences

        return read_preferences(self.library.path)

    def close(self) -> None:
        """Release the library, if it was opened."""
        if "library" in vars(self):
            self.library.close()


def _choose_library(context: typer.Context, path: str | None) -> None:
    """Choose the library; a verb without `--db` keeps the one that precedes it."""
    if context.parent is None or is_typed(context, "db"):
        context.obj = Invocation(path)
        context.call_on_close(context.obj.close)
    if context.info_name in _SETTABLE and not context.resilient_parsing:
        _apply_preferences(context, context.obj.preferences)


def _apply_preferences(context: Any, preferences: Preferences) -> None:
    """Use settings as the defaults of options that are not typed."""
    table = _SETTABLE[context.info_name]
    named = {
        option.name: preferences.get(f"{table}{option.name}") for option in context.command.params
    }
    known = {name: preference for name, preference in named.items() if preference is not None}
    context.default_map = {
        name: one.value if isinstance(one.value, list) else str(one.value)
        for name, one in known.items()
    }
    context.meta[_ORIGINS] = {name: one.origin for name, one in known.items()}


def origin_of(context: Any, field: str) -> str:
    """Return the file that set the value of an option, or "" if none did."""
    source = str(context.get_parameter_source(field))
    origins: dict[str, str] = context.meta.get(_ORIGINS, {})
    return origins.get(field, "") if source.endswith("DEFAULT_MAP") else ""


def _choose_debugging(context: typer.Context, on: bool) -> None:
    if on:
        context.meta[_DEBUG] = True


def is_typed(context: Any, name: str) -> bool:
    """Tell whether an option was typed, rather than left at its default."""
    return str(context.get_parameter_source(name)).endswith("COMMANDLINE")


def names_library(context: Any) -> bool:
    """Tell whether `--db` was typed, before the verb or after it."""
    return context is not None and (is_typed(context, "db") or names_library(context.parent))


def is_debugging(context: Any) -> bool:
    """Tell whether errors show their traceback."""
    return context is not None and bool(context.meta.get(_DEBUG))


Database = Annotated[
    Path | None,
    typer.Option(
        "--db",
        metavar="FILE",
        help="Library file or postgresql:// URL (default: ./lpisearch.db, or the "
        "configured library).",
        path_type=str,  # two slashes are not one
        envvar="LPISEARCH_DB",
        show_envvar=True,
        readable=False,  # the library reports it, with a next step
        callback=_choose_library,
        expose_value=False,
        is_eager=True,
        rich_help_panel=EVERYWHERE,
    ),
]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug",
        help="Show a full traceback on errors.",
        callback=_choose_debugging,
        expose_value=False,
        is_eager=True,
        rich_help_panel=EVERYWHERE,
    ),
]
