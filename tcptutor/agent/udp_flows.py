"""UDP flows: one iperf3 server and one client that sends them all."""

from __future__ import annotations

import functools
import json
import math
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tcptutor.agent.group import Group
from tcptutor.base.errors import LabError

INTERVAL = 0.2
"""Between two of a server's reports, s."""


@functools.cache
def streams_json() -> bool:
    """Whether iperf3 here tells its results while they come."""
    told = subprocess.run(["iperf3", "--help"], capture_output=True, text=True, check=False)
    return "--json-stream" in told.stdout + told.stderr


@dataclass
class UdpGroup(Group):
    """UDP flows. Owns iperf3's two processes and the files that they write to."""

    server: subprocess.Popen[bytes] | None = None
    client: subprocess.Popen[bytes] | None = None
    # No pipes, which would fill up while nobody reads.
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
            why = lines[-1] if lines else "no reason given"
            raise LabError(f"iperf3 does not start on {self.receiver.name}: {why}")
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
        """iperf3 does so by itself."""

    @property
    def ended(self) -> bool:
        return self.client is not None and self.client.poll() is not None

    @property
    def served(self) -> bool:
        """Whether the server is over."""
        return self.server is not None and self.server.poll() is not None

    def result(self) -> dict[str, Any]:
        """The client's JSON once it has ended; empty when it was cut off."""
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
    """The iperf3 client's command line. Its flows take the ports from `first_port` on, in order."""
    flows = group.experiment.flows
    command = ["iperf3", "-c", group.receiver.address, "-p", str(group.port), "-J", "-u"]
    command += ["--cport", str(group.first_port), "-P", str(group.udp_streams)]
    # Whole seconds, rounded up: what is measured is cut from the samples, this only has to last long enough.
    command += ["-t", str(math.ceil(group.experiment.seconds)), "-b", str(round(flows.udp_rate))]
    if flows.length is not None:
        command += ["-l", str(flows.length)]
    if flows.buffer is not None:
        command += ["-w", str(flows.buffer)]
    return command
