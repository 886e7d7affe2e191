"""`tcptutor`, and `python -m tcptutor`."""

import _signal  # type: ignore[import-not-found]  # `signal` loads enum and more, and a ^C meanwhile would show


def main() -> None:
    """Do what the command line says. ^C ends it at once and without a word, until a command has begun."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    from tcptutor.commands import main as commands  # noqa: PLC0415

    commands()


if __name__ == "__main__":
    main()
