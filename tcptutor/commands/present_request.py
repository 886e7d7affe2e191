"""Options of `tcptutor present`."""

from __future__ import annotations

from pathlib import Path

import msgspec


class PresentRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the command."""

    target: str | None
    """MODULE or MODULE/PAGE; None for the course."""
    lecture: Path | None
    resume: bool
    notes: bool
    watch: bool
    check_first: bool
    write: Path | None
    stop: bool
    no_votes: bool
    listen: str
    public_url: str
    names: bool
    backend: str
    clock: str
