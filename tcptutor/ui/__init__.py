"""The Textual application. `run_app` is the door; everything heavy is imported behind it."""

from tcptutor.ui.start import run_app

__all__ = ["run_app"]
