"""The traffic: iperf3 between host pairs, one server and one client process a pair."""

from __future__ import annotations

import json
import math
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tcptutor.errors import LabError
from tcptutor.lab.network import Host, Network
from tcptutor.spec import Experiment

PORT = 5201


@dataclass
class Pair:
    """One pair's traffic: its hosts, its two processes, and where they write: the client its JSON."""

    number: int
    sender: Host
    receiver: Host
    server: subprocess.Popen[bytes]
    server_output: IO[bytes]
    output: IO[bytes]
    client: subprocess.Popen[bytes] | None = None

    def result(self) -> dict[str, Any]:
        """iperf3's JSON once the client has ended; empty when it was cut off. Raises LabError with iperf3's error."""
        self.output.seek(0)
        try:
            document: dict[str, Any] = json.loads(self.output.read() or b"{}")
        except ValueError:
            return {}
        if error := document.get("error"):
            raise LabError(f"iperf3 on {self.sender.name}: {error}: run the experiment again")
        return document


def client_command(experiment: Experiment, receiver: Host, first_port: int) -> list[str]:
    """The iperf3 client's command line. Its data connections take the ports from `first_port` on, in order."""
    flows = experiment.flows
    # Whole seconds, rounded up: what is measured is cut from the samples, this only has to last long enough.
    command = ["iperf3", "-c", receiver.address, "-p", str(PORT), "-J", "-t", str(math.ceil(flows.duration))]
    command += [
        "-O",
        str(math.ceil(flows.warmup)),
        "-P",
        str(flows.streams),
        "-C",
        experiment.hosts.algorithm,
    ]
    command += ["--cport", str(first_port)]
    if flows.pacing is not None:
        command += ["--fq-rate", str(round(flows.pacing))]
    return command


def start_servers(network: Network) -> list[Pair]:
    """An iperf3 server on each receiver."""
    pairs = []
    for number, (sender, receiver) in enumerate(zip(network.senders, network.receivers, strict=True)):
        # A pipe would fill up while nobody reads: sixteen streams write more than it holds.
        output, result = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115  (`stop` closes them)
        server = network.popen(
            receiver,
            "iperf3",
            "-s",
            "-1",
            "-B",
            receiver.address,
            "-p",
            str(PORT),
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
        pairs.append(Pair(number, sender, receiver, server, output, result))
    return pairs


def listening(pair: Pair) -> bool:
    """Whether the server takes connections yet. Raises LabError when it has ended instead."""
    if pair.server.poll() is not None:
        pair.server_output.seek(0)
        said = pair.server_output.read().decode(errors="replace").strip().splitlines()
        raise LabError(
            f"iperf3 does not start on {pair.receiver.name}: {said[-1] if said else 'no reason given'}"
        )
    table = Path(f"/proc/{pair.receiver.pid}/net/tcp").read_text()
    return any(f":{PORT:04X} " in row and " 0A " in row for row in table.splitlines())


def start_client(network: Network, pair: Pair, experiment: Experiment, first_port: int) -> None:
    """Begin to send."""
    pair.client = network.popen(
        pair.sender,
        *client_command(experiment, pair.receiver, first_port),
        stdout=pair.output,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )


def stop(pairs: list[Pair]) -> None:
    """End what still runs; safe to call twice."""
    for pair in pairs:
        for process in (pair.client, pair.server):
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()
        pair.server_output.close()
        pair.output.close()
