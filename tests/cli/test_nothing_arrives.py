"""Runs by hand in which nothing arrives: they are kept, and the report says why."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import pytest

from tcptutor.run import load
from tests import patience
from tests.cli.command import SERVER, TCPTUTOR

pytestmark = pytest.mark.guest

PAUSE = "pause"
SENT = "timeout 10 iperf3 -c h2 -t 2"
TYPED = (
    SERVER,
    # A bucket smaller than a full frame: the handshake passes, the data never does.
    "s1 tc qdisc add dev s1-eth2 root tbf rate 5mbit burst 1000 limit 20000",
    SENT,
    PAUSE,
    f"{SENT} -u -b 2M -l 1400",
    PAUSE,
    "s1 tc qdisc del dev s1-eth2 root",
    # A black hole: the receiver's firewall drops full packets.
    "h2 iptables -A INPUT -p tcp -m length --length 1000: -j DROP",
    SENT,
    PAUSE,
)


def test_a_run_of_0_bytes_is_kept_and_explained(mark: str, snapshots: object, without_state: Path) -> None:
    # The lab has to see each run end before the next one begins.
    pause = f"sleep {math.ceil(patience.seconds(2))}"
    typed = [pause if line == PAUSE else line for line in TYPED]
    done = subprocess.run(
        [TCPTUTOR, "shell", "h1", "--backend", "guest"],
        input="\n".join(typed) + "\n",
        capture_output=True,
        text=True,
        timeout=patience.seconds(120),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    files = sorted((without_state / "tcptutor" / "runs").glob("*.tcprun"))
    runs = [load(file) for file in files]
    assert [(len(run.flows), len(run.udp)) for run in runs] == [(1, 0), (0, 1), (1, 0)], done.stdout
    assert all(run.fidelity.status == "invalid" for run in runs)
    reasons = [" ".join(run.fidelity.reasons) for run in runs]
    small = "tbf's burst of 1000 bytes on s1-eth2 is smaller than a frame of {}: nothing passes"
    assert small.format(1514) in reasons[0]
    assert small.format(1442) in reasons[1]
    assert "no segment in a frame of 1514 bytes arrived: something drops those" in reasons[2]
    for file, reason in zip(
        files, (small.format(1514), small.format(1442), "something drops those"), strict=True
    ):
        assert file.name in done.stdout
        assert reason in " ".join(done.stdout.split())
