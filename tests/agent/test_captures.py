"""Connections that a capture has seen in full, from what the kernel counts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tcptutor.agent.session.captures import Captures

HEADERS = "sk RefCnt Type Proto Iface R Rmem User Inode\n"


class Kernel:
    """Files of a namespace's connections and packet sockets, written by hand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.write()

    def write(
        self, opened: int = 0, failed: int = 0, now: int = 0, captures: int = 0, connecting: int = 0
    ) -> None:
        sockets = [f"0000 3 3 0003 2 1 0 0 {90 + number}" for number in range(captures)]
        (self.folder / "packet").write_text(HEADERS + "\n".join(["0000 3 3 0800 2 1 0 0 7", *sockets]) + "\n")
        counters = f"ActiveOpens PassiveOpens AttemptFails CurrEstab\nTcp: {opened} 0 {failed} {now}"
        (self.folder / "snmp").write_text(f"Ip: Forwarding\nIp: 2\nTcp: {counters}\n")
        (self.folder / "tcp").write_text("header\n" + "0: 0100000A:8000 0200000A:1451 02\n" * connecting)


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    real = os.open
    monkeypatch.setattr(os, "open", lambda path, flags: real(path.replace("/proc/", f"{tmp_path}/"), flags))
    return Kernel(tmp_path / "1" / "net")


@pytest.mark.parametrize(
    ("steps", "seen"),
    [
        pytest.param([{"captures": 1}, {"captures": 1, "opened": 2}], 2, id="between-two-readings"),
        pytest.param(
            [{"captures": 1}, {"captures": 1, "opened": 2, "now": 2}, {"captures": 1, "opened": 2, "now": 1}],
            1,
            id="one-goes-on",
        ),
        pytest.param([{"opened": 2}, {"captures": 1, "opened": 2}], 0, id="before-the-capture"),
        pytest.param([{"captures": 1}, {"opened": 1}], 0, id="after-the-capture"),
        pytest.param(
            [{"captures": 1, "opened": 1, "now": 1}, {"captures": 1, "opened": 1}],
            0,
            id="open-before-the-capture",
        ),
        pytest.param(
            [
                {"captures": 1},
                {"captures": 1, "opened": 1, "connecting": 1},
                {"captures": 1, "opened": 1, "failed": 1},
            ],
            0,
            id="never-answered",
        ),
        pytest.param([{"captures": 2}, {"captures": 1, "opened": 1}, {}], 1, id="kept-after-its-end"),
    ],
)
def test_connections_count_that_opened_and_ended_in_a_capture(
    kernel: Kernel, steps: list[dict[str, int]], seen: int
) -> None:
    captures = Captures(1)
    for step in steps:
        kernel.write(**step)
        captures.poll()
        assert captures.running == bool(step.get("captures"))
    captures.close()
    assert captures.seen == seen
