"""One line of the doctor's report."""

from __future__ import annotations

from typing import Literal

import msgspec

Status = Literal["ok", "warn", "fail"]


class Finding(msgspec.Struct, frozen=True):
    name: str
    """What was looked at, in a word or two; the same on every machine."""
    status: Status
    """ok; warn: something works less well or not at all, the course goes on; fail: the course cannot go on."""
    text: str
    """What was seen."""
    remedy: str = ""
    """What to do about it; empty when there is nothing to do."""


def ok(name: str, text: str) -> Finding:
    return Finding(name, "ok", text)


def warn(name: str, text: str, remedy: str = "") -> Finding:
    return Finding(name, "warn", text, remedy)


def fail(name: str, text: str, remedy: str) -> Finding:
    return Finding(name, "fail", text, remedy)
