"""The network of an experiment as a drawing, with the names that the lab manuals use."""

from __future__ import annotations

from textual.content import Content

from tcptutor import units
from tcptutor.spec import Experiment

LINK = 18
"""Columns of the line between the switches."""


def drawing(experiment: Experiment) -> Content:
    """Hosts, switches, and what the path between them does.

    h1 ──┐                          ┌── h2
    h3 ──┴─ s1 ══════════════ s2 ───┴── h4
    """
    lines = [_line(pair, experiment.pairs) for pair in range(experiment.pairs)]
    indent = " " * 12
    return Content("\n").join([*lines, Content(""), *(Content(indent + text) for text in _path(experiment))])


def _line(pair: int, pairs: int) -> Content:
    left, right = f"h{2 * pair + 1} ─", f"─ h{2 * pair + 2}"
    if pair == pairs // 2:
        joint = ("─", "─") if pairs == 1 else ("┴", "┴") if pair == pairs - 1 else ("┼", "┼")
        # The link between the switches is where everything is emulated: it is drawn double.
        return Content.assemble(
            f"{left}─{joint[0]}── s1 ", ("═" * LINK, "$accent"), f" s2 ──{joint[1]}─{right}"
        )
    joint = ("┐", "┌") if pair == 0 else ("┘", "└") if pair == pairs - 1 else ("┤", "├")
    return Content(f"{left}─{joint[0]}{' ' * (LINK + 12)}{joint[1]}─{right}")


def _path(experiment: Experiment) -> list[str]:
    """What s1 does on its interface towards s2, a line each."""
    path, hosts, flows = experiment.path, experiment.hosts, experiment.flows
    jitter = f" ± {units.seconds(path.jitter)}" if path.jitter else ""
    wanted = (
        (f"rate    {units.rate(path.rate)}" if path.rate else "rate    not limited", True),
        (f"delay   {units.seconds(path.delay)}{jitter}, which is the RTT", bool(path.delay)),
        (f"loss    {units.percent(path.loss)} of the segments, at random", bool(path.loss)),
        (f"buffer  {units.size(path.queue)}", bool(path.rate)),
        (f"window  {units.size(hosts.window or 0)}, the receiver's", hosts.window is not None),
        (f"pacing  {units.rate(flows.pacing or 0)} a flow", flows.pacing is not None),
        (f"fq      maxrate {units.rate(hosts.maxrate or 0)} a flow", hosts.maxrate is not None),
        (f"MTU     {hosts.mtu} bytes", hosts.mtu != 1500),
        (f"sender  {hosts.algorithm}, {flows.streams} flow{'s' if flows.streams > 1 else ''} a host", True),
    )
    return [text for text, shown in wanted if shown]
