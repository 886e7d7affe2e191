"""Entry point of `tcptutor` and `python -m tcptutor`."""

import _signal  # type: ignore[import-not-found]  # `signal` loads enum and more, and a ^C meanwhile would show
import gc
import os
import sys


def main() -> None:
    """Run the command line. Until a command has begun, ^C ends the program without a message."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    if sys.stdout is not None and sys.stdout.isatty():
        # Some shells export them. They would override the terminal's own size, even after a resize.
        for name in ("COLUMNS", "LINES"):
            os.environ.pop(name, None)
    streams = (sys.stdin, sys.stdout, sys.stderr)
    is_alone = len(sys.argv) == 1 and not os.environ.get("TCPTUTOR_COURSE")
    if is_alone and all(stream is not None and stream.isatty() for stream in streams):
        # The imports make no garbage: the app collects it from its first frame on.
        gc.disable()
        from tcptutor.commands.app import open_alone  # noqa: PLC0415

        open_alone()
    from tcptutor.commands.command_line import main as commands  # noqa: PLC0415

    commands()


if __name__ == "__main__":
    main()
