"""What a sample costs, beside other ways to get one: `python -m tests.benchmarks.sampling`.

Sixteen connections in a network namespace of its own; CPU time of this process and of those that it starts, a sample
of one flow. The lab's own way takes sender and receiver together, as a run does.
"""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack

FLOWS, HZ = 16, 100
_SECONDS = 2.0
"""How long each way is measured."""


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _measure(take: Callable[[], int]) -> tuple[float, float]:
    """CPU seconds a sample, and samples a second, of calling `take` again and again."""
    take()
    samples, cpu, began = 0, _cpu(), time.monotonic()
    while time.monotonic() - began < _SECONDS:
        samples += take()
    return (_cpu() - cpu) / samples, samples / (time.monotonic() - began)


def _connections(stack: ExitStack) -> list[tuple[socket.socket, socket.socket]]:
    listener = stack.enter_context(socket.create_server(("127.0.0.1", 5201), backlog=FLOWS))
    pairs = []
    for _ in range(FLOWS):
        client = stack.enter_context(socket.create_connection(("127.0.0.1", 5201)))
        server = stack.enter_context(listener.accept()[0])
        client.sendall(b"\0" * 100_000)
        pairs.append((client, server))
    return pairs


def _ours(pairs: list[tuple[socket.socket, socket.socket]], stack: ExitStack) -> Callable[[], int]:
    from tcptutor.agent.netlink import Address, SockDiag
    from tcptutor.agent.network import Host, Interface
    from tcptutor.agent.sampler import SampledFlow, SampledPair

    diag = SockDiag(Host("h1", "127.0.0.1", os.getpid(), Interface("lo", None)))
    stack.callback(diag.close)
    addresses = [Address(*client.getsockname(), *client.getpeername()) for client, _ in pairs]
    pair = SampledPair(diag, diag)
    for number, address in enumerate(addresses, 1):
        pair.add(SampledFlow(number, 1, address))
    return lambda: len(pair.sample(0.0))


def _pyroute2(stack: ExitStack) -> Callable[[], int]:
    from pyroute2 import DiagSocket

    diag = stack.enter_context(DiagSocket())
    diag.bind()

    def take() -> int:
        # The dump has both ends of each connection, and the listener.
        return len(tuple(diag.get_sock_stats(family=socket.AF_INET))) // 2

    return take


def _ss() -> int:
    output = subprocess.run(["ss", "-tinH"], capture_output=True, text=True, check=True).stdout
    return output.count("cwnd:") // 2


def _iperf3() -> tuple[float, float]:
    """The same from iperf3's intervals: what they add to a run without them, at its shortest interval."""

    def cpu(interval: str) -> tuple[float, int]:
        server = subprocess.Popen(["iperf3", "-s", "-1", "-p", "5300", "-i", "0"], stdout=subprocess.DEVNULL)
        time.sleep(0.3)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        client = ["iperf3", "-c", "127.0.0.1", "-p", "5300", "-P", str(FLOWS), "-t", "4", "-b", "100k"]
        output = subprocess.run([*client, "-i", interval, "-J"], capture_output=True, check=True).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        server.wait()
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return used, sum(len(one["streams"]) for one in json.loads(output)["intervals"])

    without, _ = cpu("0")
    used, samples = cpu("0.1")
    return max(used - without, 0.0) / samples, samples / 4


def measure() -> int:
    """Print the table; 1 when a goal is missed."""
    with ExitStack() as stack:
        pairs = _connections(stack)
        rows = {
            "this lab: exact request, one struct, both ends": _measure(_ours(pairs, stack)),
            "pyroute2: dump of all sockets": _measure(_pyroute2(stack)),
            "ss -tin in a loop": _measure(_ss),
            "iperf3's intervals, ten a second at most": _iperf3(),
        }
    ours = next(iter(rows.values()))[0]
    for name, (cost, rate) in rows.items():
        print(
            f"{name:<50} {cost * 1e6:8.1f} us of CPU a sample   {rate:9.0f} samples/s   x {cost / ours:.1f}"
        )
    share = FLOWS * HZ * ours
    cheaper = rows["ss -tin in a loop"][0] / ours
    print(
        f"{FLOWS} flows x {HZ} Hz: {share:.1%} of one core (goal 5 %); ss costs {cheaper:.0f} times as much (goal 20)"
    )
    return int(share > 0.05 or cheaper < 20)


if __name__ == "__main__":
    if sys.argv[1:] == ["--inside"]:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        sys.exit(measure())
    again = [sys.executable, "-m", "tests.benchmarks.sampling", "--inside"]
    sys.exit(subprocess.run(["unshare", "-rn", *again], check=False).returncode)
