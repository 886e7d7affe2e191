"""Near misses on the path: settings in the wrong place, and wrong units or values."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.course.goals.goal import PLACED, Condition
from tcptutor.course.goals.lab_view import carries_data, contributors
from tcptutor.course.goals.near_misses.slip import Attempt, Slip, amount, and_list, rate
from tcptutor.spec.frame_sizes import ETHERNET_HEADER
from tcptutor.spec.topology import bottleneck_interface

_BACK = ("delay", "loss", "rate")
"""Quantities the reverse path has as well."""
_DOES = {
    "delay": "delays", "loss": "drops", "rate": "holds the rate of", "jitter": "jitters", "duplicate": "doubles",
    "reorder": "reorders", "queue": "holds back",
}  # fmt: skip


def _placed(attempt: Attempt, conditions: tuple[Condition, ...]) -> Iterator[tuple[str, Condition]]:
    for name, each in attempt.asked.path_conditions():
        if name in PLACED and each in conditions:
            yield name, each


def acks_way(attempt: Attempt) -> str:
    """Detect a setting for the data path that was made only on the reverse path."""
    for name, each in _placed(attempt, attempt.unmet):
        back = contributors(attempt.view.state, name, data=False)
        new = [one for one in back if one not in contributors(attempt.view.start, name, data=False)]
        right = [one for one, value in new if each.requirement.holds(value)]
        if right:
            return (
                f"{right[0]} {_DOES[name]} the reverse path, which carries ACKs: a qdisc acts on packets that leave"
                f" its interface, and data leaves s1 through {attempt.view.bottleneck}"
            )
    return ""


def both_ways(attempt: Attempt) -> str:
    """Detect a setting made on the reverse path as well."""
    path, first = attempt.view.experiment.path, attempt.view.start.experiment.path
    for name, each in _placed(attempt, attempt.asked.conditions):
        back = f"reverse_{name}"
        if name not in _BACK or attempt.asked.condition_on(f"path.{back}") or not each.holds(attempt.view):
            continue
        now = getattr(path, back)
        if now and now != getattr(first, back) and each.requirement.low > 0:
            where = and_list([one for one, _ in contributors(attempt.view.state, name, data=False)])
            there = and_list([one for one, _ in contributors(attempt.view.state, name, data=True)])
            effect = f"{amount(now, 'time')} more RTT" if name == "delay" else "an effect on ACKs too"
            return (
                f"{there} has this setting, and {where} as well, which means {effect}; remove it from {where}"
            )
    return ""


def twice(attempt: Attempt) -> str:
    """Detect several qdiscs on the data path where a single qdisc is enough."""
    for name, each in _placed(attempt, attempt.unmet):
        on_way = contributors(attempt.view.state, name, data=True)
        if (
            name in ("delay", "loss")
            and len(on_way) > 1
            and any(each.requirement.holds(one) for _, one in on_way)
        ):
            total = amount(attempt.view.experiment.path.delay, "time") if name == "delay" else ""
            sums = f"up to {total}" if total else "up"
            where = [one for one, _ in on_way]
            if len(set(where)) == 1:
                return f"{where[0]} has this setting twice, one qdisc inside the other: they add {sums}; delete one"
            return (
                f"{and_list(where)} have this setting on the same path: they add {sums}; remove all but one"
            )
    return ""


def elsewhere(attempt: Attempt) -> str:
    """Detect the right effect on a different interface than the page requires."""
    on = attempt.asked.goal.interface
    if not on:
        return ""
    for name, each in _placed(attempt, attempt.asked.conditions):
        if each.holds(attempt.view) and each.requirement.low > 0:
            there = [
                one
                for one, value in contributors(attempt.view.state, name, data=True)
                if each.requirement.holds(value)
            ]
            # Check the place of each condition that holds, even if other conditions do not.
            if there and on not in there:
                why = (
                    "; on the sender's own interface netem delays TCP itself, which waits for its packets to leave"
                    if there[0].startswith("h") and on.startswith("s")
                    else ""
                )
                return f"{there[0]} has the effect, but the page asks for {on}{why}"
    return ""


def fq_elsewhere(attempt: Attempt) -> str:
    """Detect fq on an interface from which the flow does not leave."""
    asked = attempt.asked.condition_on("hosts.maxrate")
    if asked is None or asked.holds(attempt.view):
        return ""
    for one in attempt.view.state.interfaces:
        for qdisc in one.qdiscs:
            if (
                qdisc.kind == "fq"
                and asked.requirement.holds(qdisc.settings.get("maxrate"))
                and "maxrate" in qdisc.settings
            ):
                own = f"{attempt.view.senders[0]}-eth0"
                if one.name not in (own, bottleneck_interface(attempt.view.pairs)):
                    what = "data" if carries_data(one.name, attempt.view.pairs) else "ACKs"
                    return f"fq on {one.name} paces the {what} leaving there: put it on {own} instead"
    return ""


PLACEMENT_SLIPS = (
    Slip("acks-way", acks_way),
    Slip("twice", twice),
    Slip("fq-elsewhere", fq_elsewhere),
    Slip("both-ways", both_ways, blocks=True),
    Slip("elsewhere", elsewhere, blocks=True),
)


_RATES = ("path.rate", "path.reverse_rate", "hosts.maxrate")


def _numbers(attempt: Attempt, *names: str) -> list[tuple[Condition, float]]:
    """Return the unmet conditions of these names or kinds that have a nonzero number."""
    found = []
    for each in attempt.unmet:
        value = each.term.value(attempt.view)
        if (each.term.name in names or each.term.kind in names) and isinstance(value, int | float) and value:
            found.append((each, float(value)))
    return found


def bytes_for_bits(attempt: Attempt) -> str:
    """Detect tc's mbps, which means bytes per second."""
    for each, value in _numbers(attempt, *_RATES):
        if each.requirement.holds(value / 8):
            return f"{rate(value)} is eight times too much: in tc, mbps is megabytes per second and mbit megabits"
        if each.requirement.holds(value * 8):
            return f"{rate(value)} is an eighth of the goal: 1 MB/s is 8 Mbit/s"
    return ""


def prefix(attempt: Attempt) -> str:
    """Detect a rate with a wrong or missing prefix."""
    for each, value in _numbers(attempt, *_RATES):
        for factor in (1e3, 1e6, 1e-3):
            if each.requirement.holds(value * factor):
                how = {
                    1e3: "a thousandth of the goal",
                    1e6: "a millionth of the goal",
                    1e-3: "a thousand times the goal",
                }[factor]
                return f"{rate(value)} is {how}: write kbit, mbit or gbit, because tc reads a plain number as bit/s"
    return ""


def time_unit(attempt: Attempt) -> str:
    """Detect a delay without a unit, which tc reads as nanoseconds or microseconds."""
    for each, value in _numbers(attempt, "path.delay", "path.jitter", "path.reverse_delay"):
        if each.requirement.holds(value * 1e3) or each.requirement.holds(value * 1e6):
            # The assumed unit depends on the version of tc.
            number, unit = (value * 1e9, "ns") if value < 1e-6 else (value * 1e6, "µs")
            return (
                f"the delay is {number:.3g} {unit}: tc does not read a plain number as milliseconds; write"
                f" {number:.3g}ms, not {number:.3g}"
            )
        if each.requirement.holds(value / 1e3):
            return f"{amount(value, 'time')} is a thousand times too much: write ms, not s"
    return ""


def half(attempt: Attempt) -> str:
    """Detect half of the RTT's delay on the data path."""
    for each, value in _numbers(attempt, "path.delay"):
        if each.requirement.holds(value * 2) and not attempt.view.experiment.path.reverse_delay:
            return (
                f"{amount(value, 'time')} is half of the goal: the reverse path adds no delay here, so the whole delay"
                " belongs on the data path"
            )
    return ""


def percent(attempt: Attempt) -> str:
    """Detect a loss rate off by a factor of 100, as tc reads plain numbers as percent."""
    for each, value in _numbers(attempt, "ratio"):
        if each.term.about_run:
            continue
        if each.requirement.holds(value * 100):
            return (
                f"{amount(value, 'ratio')} is a hundredth of the goal: tc reads a number without % as percent"
            )
        if each.requirement.holds(value / 100):
            return (
                f"{amount(value, 'ratio')} is a hundred times too much: tc reads percent, so 0.01 is 0.01 %"
            )
    return ""


def packets_for_bytes(attempt: Attempt) -> str:
    """Detect tbf's limit in packets: it is in bytes, unlike netem's and pfifo's."""
    frame = attempt.view.experiment.hosts.mtu + ETHERNET_HEADER
    for each, value in _numbers(attempt, "path.queue"):
        if any(each.requirement.holds(value * size) for size in (frame, frame - ETHERNET_HEADER, 1000)):
            packets = f"{value:.0f} packets"
            return f"tbf's limit is in bytes, not packets: {packets} take {amount(value * frame, 'size')}"
    return ""


VALUE_SLIPS = (
    Slip("bytes-for-bits", bytes_for_bits),
    Slip("prefix", prefix),
    Slip("time-unit", time_unit),
    Slip("half", half),
    Slip("percent", percent),
    Slip("packets-for-bytes", packets_for_bytes),
)
