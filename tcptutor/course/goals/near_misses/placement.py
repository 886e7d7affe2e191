"""Near misses in places: settings on the reverse path, on both paths, or twice on the same."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.course.goals.goal import PLACED, Condition
from tcptutor.course.goals.interfaces import bottleneck, carries_data, makers
from tcptutor.course.goals.near_misses.slip import Attempt, Slip, amount, and_list

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
        back = makers(attempt.view.state, name, data=False)
        new = [one for one in back if one not in makers(attempt.view.start, name, data=False)]
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
            where = and_list([one for one, _ in makers(attempt.view.state, name, data=False)])
            there = and_list([one for one, _ in makers(attempt.view.state, name, data=True)])
            effect = f"{amount(now, 'time')} more RTT" if name == "delay" else "an effect on ACKs too"
            return (
                f"{there} has this setting, and {where} as well, which means {effect}; remove it from {where}"
            )
    return ""


def twice(attempt: Attempt) -> str:
    """Detect several qdiscs on the data path where a single qdisc is enough."""
    for name, each in _placed(attempt, attempt.unmet):
        on_way = makers(attempt.view.state, name, data=True)
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
                for one, value in makers(attempt.view.state, name, data=True)
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
                if one.name not in (own, bottleneck(attempt.view.pairs)):
                    what = "data" if carries_data(one.name, attempt.view.pairs) else "ACKs"
                    return f"fq on {one.name} paces the {what} leaving there: put it on {own} instead"
    return ""


SLIPS = (
    Slip("acks-way", acks_way),
    Slip("twice", twice),
    Slip("fq-elsewhere", fq_elsewhere),
    Slip("both-ways", both_ways, blocks=True),
    Slip("elsewhere", elsewhere, blocks=True),
)
