"""Entry point of `tcptutor` and `python -m tcptutor`."""

import _signal  # type: ignore[import-not-found]  # `signal` loads enum and more, and a ^C meanwhile would show


def main() -> None:
    """Run the command line. Until a command has begun, ^C ends the program without a message."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    from tcptutor.commands import main as commands  # noqa: PLC0415

    commands()


if __name__ == "__main__":
    main()
