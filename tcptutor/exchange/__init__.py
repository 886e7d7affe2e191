"""Runs in and out: exports for spreadsheets and programs, plots on paper, results of iperf3 and flent."""

from tcptutor.exchange.bring import bring, keep
from tcptutor.exchange.find import open_run

__all__ = ["bring", "keep", "open_run"]
