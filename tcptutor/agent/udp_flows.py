"""UDP flows of a group: an iperf3 server, and a client that sends them all."""

from __future__ import annotations

import functools
import json
import math
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tcptutor.agent.flow_group import Group
from tcptutor.base.errors import LabError

INTERVAL = 0.2
"""Time between two reports of a server, s."""


@functools.cache
def streams_json() -> bool:
    """Return whether the installed iperf3 can print its results as JSON lines during the test."""
    done = subprocess.run(["iperf3", "--help"], capture_output=True, text=True, check=False)
    return "--json-stream" in done.stdout + done.stderr


@dataclass
class UdpGroup(Group):
    """UDP flows. Owns the two iperf3 processes and their output files."""

    server: subprocess.Popen[bytes] | None = None
    client: subprocess.Popen[bytes] | None = None
    # Files instead of pipes, which would fill up unread.
    server_output: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    output: IO[bytes] = field(default_factory=tempfile.TemporaryFile)

    def prepare(self) -> None:
        report = ["-J", "-i", str(INTERVAL)]
        if streams_json():
            report.append("--json-stream")
        self.server = self.network.popen(
            self.receiver,
            *("iperf3", "-s", "-1", "-B", self.receiver.address, "-p", str(self.port), *report),
            stdout=self.server_output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )

    @property
    def prepared(self) -> bool:
        assert self.server is not None
        if self.server.poll() is not None:
            self.server_output.seek(0)
            lines = self.server_output.read().decode(errors="replace").strip().splitlines()
            reason = lines[-1] if lines else "no reason given"
            raise LabError(f"iperf3 does not start on {self.receiver.name}: {reason}")
        table = Path(f"/proc/{self.receiver.pid}/net/tcp").read_text()
        return any(f":{self.port:04X} " in row and " 0A " in row for row in table.splitlines())

    def connect(self) -> None:
        self.client = self.network.popen(
            self.sender,
            *client_command(self),
            stdout=self.output,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
        )

    @property
    def connected(self) -> bool:
        if self.client is None:
            return False
        table = Path(f"/proc/{self.sender.pid}/net/udp").read_text()
        return sum(f":{self.port:04X} " in row for row in table.splitlines()) >= self.udp_streams

    def send(self) -> None:
        """No-op: iperf3's client sends by itself."""

    @property
    def ended(self) -> bool:
        return self.client is not None and self.client.poll() is not None

    @property
    def served(self) -> bool:
        """True once the server has exited."""
        return self.server is not None and self.server.poll() is not None

    def result(self) -> dict[str, Any]:
        """Return the client's JSON after its end; empty if it was cut off."""
        self.output.seek(0)
        try:
            document: dict[str, Any] = json.loads(self.output.read() or b"{}")
        except ValueError:
            return {}
        return document

    @property
    def failure(self) -> str:
        if not self.ended:
            return ""
        error = self.result().get("error")
        return f"iperf3 on {self.sender.name}: {error}: {self.remedy}" if error else ""

    def stop(self) -> None:
        for process in (self.client, self.server):
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()
        self.server_output.close()
        self.output.close()


def client_command(group: UdpGroup) -> list[str]:
    """Return the command line of iperf3's client; its flows use consecutive ports from `first_port`."""
    flows = group.experiment.flows
    command = ["iperf3", "-c", group.receiver.address, "-p", str(group.port), "-J", "-u"]
    command += ["--cport", str(group.first_port), "-P", str(group.udp_streams)]
    # Rounded up to whole seconds: results come from the samples, so the client only has to run long enough.
    command += ["-t", str(math.ceil(group.experiment.seconds)), "-b", str(round(flows.udp_rate))]
    if flows.length is not None:
        command += ["-l", str(flows.length)]
    if flows.buffer is not None:
        command += ["-w", str(flows.buffer)]
    return command
