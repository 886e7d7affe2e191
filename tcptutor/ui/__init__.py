"""The Textual application. `run_app` is its entry point and imports the rest on demand."""

from tcptutor.ui.start import run_app

__all__ = ["run_app"]
