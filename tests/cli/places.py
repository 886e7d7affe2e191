"""Runs that the tests show."""

from __future__ import annotations

from pathlib import Path

RUNS = Path(__file__).parents[1] / "analysis" / "runs"
FOUR = RUNS / "four-lossy-streams.tcprun"
