"""Import and export of runs: tables for spreadsheets and programs, plots, results of iperf3 and flent."""

from tcptutor.exchange.find import open_run, saved_runs, short_id
from tcptutor.exchange.importing import import_runs, save_run

__all__ = ["import_runs", "open_run", "save_run", "saved_runs", "short_id"]
