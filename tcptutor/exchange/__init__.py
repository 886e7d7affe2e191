"""Runs in and out: exports for spreadsheets and programs, plots on paper, results of iperf3 and flent."""

from tcptutor.exchange.find import kept_runs, open_run, short_id
from tcptutor.exchange.importing import import_runs, save_run

__all__ = ["import_runs", "kept_runs", "open_run", "save_run", "short_id"]
