"""The command line's errors as a single line with a remedy, and its exit code.

0 done, 1 a check or run failed, 2 wrong usage, 3 the lab cannot run here.
"""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Iterator
from typing import Any, NoReturn

import click

from tcptutor.base.errors import TutorError, refused, unknown
from tcptutor.commands.ending import exit_despite_threads
from tcptutor.commands.output import give_up_output, prepare, use_color, warn

_COLOR = click.Option(
    ["--color"],
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    is_eager=True,
    expose_value=False,
    callback=lambda context, _option, choice: setattr(context, "color", use_color(choice)),
    help="When to use color; auto: on a terminal, unless NO_COLOR is set.",
)
_NO_INTEGER = re.compile(r"is not a valid integer( range)?")
"""click's message."""
_OF_ALL = "--course"
"""Option that commands take between `tcptutor` and their names, if they do not have it themselves."""
_SIGNALLED = 128
"""Added to the number of a fatal signal for the exit code, as shells do."""


class _CommandWithColor(click.Command):
    """A command with --color."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.params.append(_COLOR)


class CommandGroup(click.Group):
    """A group that turns errors into a line and the right exit code."""

    command_class = _CommandWithColor

    def main(self, *given: Any, **named: Any) -> Any:
        prepare()
        with exit_despite_threads():  # click always exits by SystemExit
            return super().main(*given, **named)

    def make_context(self, *given: Any, **named: Any) -> click.Context:
        with errors_in_one_line():  # --help and --version print here
            return super().make_context(*given, **named)

    def invoke(self, ctx: click.Context) -> Any:
        with errors_in_one_line():
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            raise click.UsageError(unknown("command", args[0], self.commands), ctx)
        return super().resolve_command(ctx, args)


@contextlib.contextmanager
def errors_in_one_line() -> Iterator[None]:
    """Print an error of the block in a line and exit with its code."""
    try:
        yield
    except click.UsageError as error:
        _exit_with_usage_error(error)
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
        # Errors with a known context are TutorErrors. Other OSErrors may be a full disk or an overlong file name.
        give_up_output()
        what = "" if error.filename is None else f"cannot use {error.filename}: "
        warn(f"{what}{refused(error)}")
        code = TutorError.exit_code
    else:
        return
    raise SystemExit(code)


def _exit_with_usage_error(error: click.UsageError) -> NoReturn:
    command = error.ctx.command_path if error.ctx else "tcptutor"
    if isinstance(error, click.NoSuchOption) and error.option_name == _OF_ALL and error.ctx is not None:
        name = error.ctx.find_root().info_name or "tcptutor"
        words = command.removeprefix(name).strip()
        warn(
            f"{words} has no option {_OF_ALL}: write it before the command, `{name} {_OF_ALL} FILE {words} ...`"
        )
        raise SystemExit(error.exit_code)
    message = " ".join(_NO_INTEGER.sub("is not a whole number", error.format_message().rstrip(".")).split())
    warn(f"{message[:1].lower()}{message[1:]} (see `{command} --help`)")
    raise SystemExit(error.exit_code)
