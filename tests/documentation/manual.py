"""The man page, made from the declarations of the commands: `python -m tests.documentation man`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from tcptutor import __version__
from tcptutor.base import places
from tcptutor.commands.command_line import main

PAGE = places.assets() / "documentation" / "tcptutor.1"
_FILES = (
    ("~/.local/share/tcptutor", "journal, runs and settings (XDG_DATA_HOME)"),
    ("~/.cache/tcptutor", "the lab's virtual machine (XDG_CACHE_HOME)"),
    ("~/.local/state/tcptutor", "in a graded course, digests of your answers (XDG_STATE_HOME)"),
)
_HELP = ("-h, --help", "Show this message and exit.")
_CODES = (
    ("0", "done"),
    ("1", "a check or a run failed"),
    ("2", "wrong usage"),
    ("3", "the lab cannot run here"),
)


def page() -> str:
    """Return the man page in roff."""
    lines = [
        f'.TH TCPTUTOR 1 "" "tcptutor {__version__}" "User Commands"',
        ".SH NAME",
        r"tcptutor \- learn how TCP gets its throughput, with live experiments on a real Linux network",
        ".SH SYNOPSIS",
        ".B tcptutor",
        "[OPTIONS] [COMMAND]",
        ".SH DESCRIPTION",
        *_paragraphs(main.help or ""),
        ".SH OPTIONS",
        *_options(main),
        ".SH COMMANDS",
    ]
    for name, command in _commands("", main):
        lines += [
            ".SS",
            _text(" ".join([name, *_arguments(command)])),
            *_paragraphs(command.help or ""),
            *_options(command),
        ]
    lines += [".SH EXIT STATUS", *_list(_CODES), ".SH FILES", *_list(_FILES)]
    return "\n".join(lines) + "\n"


def _commands(before: str, group: click.Group) -> Iterator[tuple[str, click.Command]]:
    for name, command in sorted(group.commands.items()):
        if isinstance(command, click.Group):
            yield from _commands(f"{before}{name} ", command)
        elif not command.hidden:
            yield f"{before}{name}", command


def _arguments(command: click.Command) -> list[str]:
    return [
        each.make_metavar(click.Context(command))
        for each in command.params
        if isinstance(each, click.Argument)
    ]


def _options(command: click.Command) -> list[str]:
    # Without click's own --help, whose names depend on who asked the command for it first.
    options = [each for each in command.params if isinstance(each, click.Option)]
    records = [each.get_help_record(click.Context(command)) for each in options]
    return _list([*(record for record in records if record is not None), _HELP])


def _list(pairs: Sequence[tuple[str, str]]) -> list[str]:
    return [line for term, text in pairs for line in (".TP", f".B {_text(term)}", _text(text))]


def _paragraphs(text: str) -> list[str]:
    return [
        line
        for part in text.replace("\b", "").split("\n\n")
        for line in (".PP", _text(" ".join(part.split())))
    ]


def _text(text: str) -> str:
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped
