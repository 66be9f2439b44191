"""Options as dataclass fields: the command line, the HTTP API and the settings derive from them.

An option is declared once, by `option`; its field carries help, range and choices. `fields_of`
lists the options of a dataclass, those of nested dataclasses included, and `build` makes an object
of the dataclass from their values.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Options = TypeVar("Options")
_KEY = "option"
_WIDTH = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionInfo:
    """What faces show of an option, and what they accept.

    Attributes
    ----------
    help
        One sentence for the command line; `{names}` and `{alternatives}` list `names`.
    summary
        The sentence for the other faces, where that of the command line does not fit them.
    name
        The public name, where the field has another one: `label` for `Filter.labels`.
    flags
        What is typed, where it is not the name with dashes.
    metavar
        What stands for the value in the help.
    choices
        All allowed values; () allows any.
    minimum, maximum
        The range of a number.
    panel
        The heading of the help.
    form
        How a text is written for the value, by a name that the command line knows.
    names
        The family of names that completion proposes: "methods", "labels", ….
    envvar
        The environment variable that sets it.
    setting
        Whether a settings file may set it.
    typed
        Whether the command line has it.
    advanced
        Whether only the full help shows it.
    after
        The field after which faces show it, if that is not its place.
    """

    help: str
    summary: str = ""
    name: str = ""
    flags: tuple[str, ...] = ()
    metavar: str = ""
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    panel: str = ""
    form: str = ""
    names: str = ""
    envvar: str = ""
    setting: bool = False
    typed: bool = True
    advanced: bool = False
    after: str = ""


@dataclass(frozen=True, slots=True)
class OptionField:
    """An option of a dataclass.

    Attributes
    ----------
    name
        Of the field.
    kind
        The type of its value, or of each of its values, by name: "int", "float", "str", ….
    many, optional
        Whether it has several values, and whether it may be None.
    default
        None for an option without a default.
    owner
        The dataclass that has the field.
    """

    name: str
    kind: str
    many: bool
    optional: bool
    default: Any
    info: OptionInfo
    owner: type

    @property
    def public_name(self) -> str:
        """The name of its parameter, and of its flag but for the dashes."""
        return self.info.name or self.name

    @property
    def flags(self) -> tuple[str, ...]:
        """What is typed for it."""
        return self.info.flags or (f"--{self.public_name.replace('_', '-')}",)

    @property
    def summary(self) -> str:
        """What it is, for other faces than the command line."""
        return self.info.summary or self.info.help


def described(help: str, **info: Any) -> dict[str, OptionInfo]:  # noqa: A002 (the field's term)
    """Return the metadata of a dataclass field that is an option."""
    return {_KEY: OptionInfo(help=help, **info)}


def option(default: Any, help: str, **info: Any) -> Any:  # noqa: A002 (the field's term)
    """Declare a dataclass field that is an option; a default that is a type makes its values."""
    metadata = described(help, **info)
    if isinstance(default, type):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


def fields_of(options: type) -> list[OptionField]:
    """Return the options of a dataclass and, in their places, of the dataclasses in its fields."""
    found: list[OptionField] = []
    for one in fields(options):
        nested: Any = one.default_factory
        if _KEY in one.metadata:
            found.append(_option_field(options, one))
        elif isinstance(nested, type) and is_dataclass(nested):
            found += fields_of(nested)
    for moved in [item for item in found if item.info.after and item.owner is options]:
        move_after(found, moved, moved.info.after)
    return found


def move_after(options: list[OptionField], one: OptionField, name: str) -> None:
    """Move an option behind the one with this name."""
    options.remove(one)
    options.insert([other.name for other in options].index(name) + 1, one)


def _option_field(owner: type, one: Any) -> OptionField:
    kind = one.type.__name__ if isinstance(one.type, type) else str(one.type)
    many, optional = kind.startswith("tuple["), kind.endswith(" | None")
    kind = kind.removeprefix("tuple[").partition(",")[0] if many else kind.removesuffix(" | None")
    if one.default_factory is not MISSING:
        default = one.default_factory()
    else:
        default = None if one.default is MISSING else one.default
    return OptionField(one.name, kind, many, optional, default, one.metadata[_KEY], owner)


def build(options: Callable[..., Options], values: Mapping[str, Any]) -> Options:
    """Make options from the values of some fields, by name, nested ones included."""
    own: dict[str, Any] = {}
    for one in fields(options):  # type: ignore[arg-type]
        nested: Any = one.default_factory
        if one.name in values:
            own[one.name] = values[one.name]
        elif isinstance(nested, type) and is_dataclass(nested):
            own[one.name] = build(nested, values)
    return options(**own)


def document(options: type) -> None:
    """Append the options of a dataclass to its docstring, as its attributes."""
    if options.__doc__ is None:  # pragma: no cover (python -OO)
        return
    lines = [
        line
        for one in fields(options)
        if _KEY in one.metadata
        for line in (one.name, f"{'':{_WIDTH}}{_plain_help(one.metadata[_KEY])}")
    ]
    options.__doc__ += "\n".join(["\n\nAttributes\n----------", *lines, ""])


def _plain_help(info: OptionInfo) -> str:
    return info.summary or info.help
