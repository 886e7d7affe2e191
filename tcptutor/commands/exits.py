"""How the command line ends: what went wrong as one line that says what to do, and an exit code.

0 done, 1 a check or run failed, 2 wrong usage, 3 the lab cannot run here.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Container, Iterator
from typing import Any, NoReturn, ParamSpec

import click

from tcptutor.base.errors import TutorError, refused, unknown
from tcptutor.commands.output import colours, give_up_output, prepare, warn

_P = ParamSpec("_P")

_COLOR = click.Option(
    ["--color"],
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    is_eager=True,
    expose_value=False,
    callback=lambda context, _option, asked: setattr(context, "color", colours(asked)),
    help="Colours: auto is on a terminal, unless NO_COLOR is set.",
)
_NO_INTEGER = re.compile(r"is not a valid integer( range)?")
"""How click says it."""
_SIGNALLED = 128
"""Added to a signal's number: the exit code of what the signal has ended, as shells have it."""
_LAST_READ = 1.0
"""Seconds for a thread that reads from the terminal to see that it is to end."""


class _CommandWithColor(click.Command):
    """A command that takes --color."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.params.append(_COLOR)


class CommandGroup(click.Group):
    """Turns what goes wrong into one line and the right exit code."""

    command_class = _CommandWithColor

    def main(self, *given: Any, **named: Any) -> Any:
        prepare()
        callers = set(threading.enumerate())
        try:
            return super().main(*given, **named)
        except SystemExit as ended:  # it always ends so
            _without_waiting_for_threads(ended.code, callers)
            raise

    def make_context(self, *given: Any, **named: Any) -> click.Context:
        with _in_one_line():  # --help and --version print here
            return super().make_context(*given, **named)

    def invoke(self, ctx: click.Context) -> Any:
        with _in_one_line():
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            raise click.UsageError(unknown("command", args[0], self.commands), ctx)
        return super().resolve_command(ctx, args)


@contextlib.contextmanager
def _in_one_line() -> Iterator[None]:
    """Says what the block raises in one line, and ends with its exit code."""
    try:
        yield
    except click.UsageError as error:
        _refuse(error)
    except TutorError as error:
        warn(str(error))
        code = error.exit_code
    except BrokenPipeError:
        give_up_output()
        code = _SIGNALLED + signal.SIGPIPE
    except KeyboardInterrupt:
        warn("stopped")
        code = _SIGNALLED + signal.SIGINT
    except OSError as error:
        # Who knows what was being done has said so. This is help for a full disk, a name too long to be asked for ...
        give_up_output()
        what = "" if error.filename is None else f"cannot use {error.filename}: "
        warn(f"{what}{refused(error)}")
        code = TutorError.exit_code
    else:
        return
    raise click.exceptions.Exit(code)


def _without_waiting_for_threads(code: object, callers: Container[threading.Thread]) -> None:
    """End the program with `code` if a thread of the command still runs that Python would wait for.

    One of Textual's may, reading from a terminal that is dead. `callers` are not the command's: they ran before it.
    """
    for thread in threading.enumerate():
        if thread not in callers and not thread.daemon:
            thread.join(_LAST_READ)
            if thread.is_alive():
                for stream in (sys.stdout, sys.stderr):
                    with contextlib.suppress(OSError, ValueError):
                        stream.flush()
                os._exit(code if isinstance(code, int) else int(code is not None))


def _refuse(error: click.UsageError) -> NoReturn:
    """One line for words that cannot be understood."""
    command = error.ctx.command_path if error.ctx else "tcptutor"
    said = " ".join(_NO_INTEGER.sub("is not a whole number", error.format_message().rstrip(".")).split())
    warn(f"{said[:1].lower()}{said[1:]} (`{command} --help` tells more)")
    raise click.exceptions.Exit(error.exit_code)


def end(command: Callable[_P, int], *given: _P.args, **named: _P.kwargs) -> NoReturn:
    """Run `command`, all of it imported, and end with its exit code.

    Meanwhile ^C unwinds it, so that nothing half-written stays; before and after, it ends the program as it is.
    """
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code = command(*given, **named)
    finally:
        signal.signal(signal.SIGINT, before)
    sys.exit(code)
