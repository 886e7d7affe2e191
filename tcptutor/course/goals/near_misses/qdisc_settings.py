"""Near misses in qdiscs: their order, tbf's bucket and buffer, netem's limit, undone settings."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.course.goals.lab_view import carries_data, chain, contributions, is_on_path
from tcptutor.course.goals.near_misses.slip import Attempt, Slip, amount, and_list, rate
from tcptutor.spec.frame_sizes import ETHERNET_HEADER
from tcptutor.wire.kernel_state import QdiscSettings

_LATE = 1e-3
"""Latency of the kernel in serving a queue, s: a bucket that lasts this long causes no loss."""
_LEAST_PACKETS = 5
"""Fewest packets of a usable buffer: below, even a single flow loses immediately."""


def _chains(attempt: Attempt) -> Iterator[tuple[str, tuple[QdiscSettings, ...]]]:
    """Yield the changed interfaces on the data path with their qdiscs."""
    for one in attempt.view.state.interfaces:
        data = is_on_path(one.name) and carries_data(one.name, attempt.view.pairs)
        if data and one.qdiscs != chain(attempt.view.start, one.name):
            yield one.name, one.qdiscs


def _shapers(attempt: Attempt) -> Iterator[tuple[str, QdiscSettings]]:
    if attempt.asked.condition_on("path.rate") or attempt.asked.condition_on("path.queue"):
        for name, qdiscs in _chains(attempt):
            yield from ((name, one) for one in qdiscs if one.kind == "tbf")


def _frame(attempt: Attempt) -> int:
    return attempt.view.experiment.hosts.mtu + ETHERNET_HEADER


def small_burst(attempt: Attempt) -> str:
    """Detect a bucket that empties between kernel ticks, or is smaller than a packet."""
    for name, tbf in _shapers(attempt):
        bucket, speed = float(tbf.settings["burst"]), float(tbf.settings["rate"])
        if bucket < _frame(attempt):
            return (
                f"tbf's burst on {name} is {bucket:.0f} bytes, but a full packet has {_frame(attempt)}: it never"
                " fits into the bucket, so tbf drops it"
            )
        if bucket < 0.99 * speed * _LATE / 8:
            return (
                f"tbf's burst on {name} lasts {amount(8 * bucket / speed, 'time')} at {rate(speed)}: whenever the"
                f" kernel serves it later, capacity is lost; set it to {amount(speed * _LATE / 8, 'size')} or more"
            )
    return ""


def small_limit(attempt: Attempt) -> str:
    """Detect a buffer of only a few packets."""
    for name, tbf in _shapers(attempt):
        packets = float(tbf.settings["limit"]) / _frame(attempt)
        if packets < _LEAST_PACKETS and not _asks_so_little(attempt):
            return (
                f"tbf's limit on {name} is its buffer in bytes: {tbf.settings['limit']:.0f} hold {packets:.2g} packets"
                f" of {_frame(attempt)}, and almost every queued packet is dropped"
            )
    return ""


def _asks_so_little(attempt: Attempt) -> bool:
    asked = attempt.asked.condition_on("path.queue")
    return asked is not None and asked.requirement.high < _LEAST_PACKETS * _frame(attempt)


_CLASS_RATES = {"htb": "htb rate ...", "hfsc": "hfsc sc rate ... ul rate ..."}
"""Qdiscs with rates on their classes, and tc's syntax for it."""


def unclassified(attempt: Attempt) -> str:
    """Detect htb or hfsc without a class for the packets: htb does not limit them, hfsc drops them."""
    asked = attempt.asked.condition_on("path.rate")
    path = attempt.view.experiment.path
    if asked is None or path.rate is not None or not all("no class takes" in each for each in path.unread):
        return ""
    for name, qdiscs in _chains(attempt):
        for root in qdiscs:
            if root.kind not in _CLASS_RATES or not root.handle.endswith(":"):
                continue
            handles = [one.handle for one in qdiscs if one.kind == root.kind]
            classes = [each for each in handles if each.startswith(root.handle) and each != root.handle]
            if not classes:
                return (
                    f"{root.kind} on {name} has no class yet, and rates belong to classes: tc class add dev {name}"
                    f" parent {root.handle} classid {root.handle}10 {_CLASS_RATES[root.kind]}"
                )
            does = "does not limit these packets" if root.kind == "htb" else "drops these packets"
            return (
                f"{root.kind} on {name} {does}: it has no default, or a default outside its classes"
                f" ({and_list(classes)}), and no filter selects a class; add {root.kind} again with default"
                f" {classes[-1].partition(':')[2]}"
            )
    return ""


def netem_inside(attempt: Attempt) -> str:
    """Detect netem below tbf, where it replaces tbf's buffer."""
    if not any(True for _ in attempt.asked.path_conditions()):
        return ""
    for name, qdiscs in _chains(attempt):
        kinds = [one.kind for one in qdiscs]
        if "tbf" in kinds and "netem" in kinds[kinds.index("tbf") :]:
            inside = qdiscs[kinds.index("netem", kinds.index("tbf"))]
            return (
                f"netem is inside tbf on {name} and replaces its buffer: tbf's limit no longer"
                f" applies, netem's {inside.settings['limit']:.0f} packets does; put netem at the root"
                " and tbf below it, with parent 1:"
            )
    return ""


def netem_limit(attempt: Attempt) -> str:
    """Detect a netem limit below the packets in flight."""
    speed, wanted = attempt.view.experiment.path.rate, attempt.asked.condition_on("path.delay")
    if not speed or wanted is None:
        return ""
    for name, qdiscs in _chains(attempt):
        for one in qdiscs:
            delay = float(one.settings.get("delay", 0)) if one.kind == "netem" else 0.0
            needs = speed * delay / 8 / _frame(attempt)
            if delay and one.settings["limit"] < needs:
                return (
                    f"netem on {name} holds at most {one.settings['limit']:.0f} packets, but {amount(delay, 'time')} at"
                    f" {rate(speed)} are {needs:.0f}: it drops the rest; raise its limit"
                )
    return ""


def undone(attempt: Attempt) -> str:
    """Detect a value removed by a later command."""
    now = list(_chains(attempt))
    for quantity, each in attempt.asked.path_conditions():
        if each.holds(attempt.view) or each.requirement.low <= 0:
            continue
        for before in attempt.earlier:
            for name, qdiscs in now:
                had = chain(before, name)
                held_before = any(map(each.requirement.holds, contributions(had, quantity)))
                if not held_before or any(contributions(qdiscs, quantity)):
                    continue
                if quantity in ("rate", "queue") and qdiscs and len(qdiscs) < len(had):
                    return (
                        f"the new root on {name} removed tbf, which was inside the old root: add it again with"
                        f" parent {qdiscs[0].handle}"
                    )
                if [one.kind for one in had] == [one.kind for one in qdiscs]:
                    return (
                        f"tc replaces all settings of {qdiscs[0].kind} on {name}, so the"
                        f" {quantity} set before is gone; give all settings in one command"
                    )
    return ""


QDISC_SLIPS = (
    Slip("undone", undone),
    Slip("unclassified", unclassified),
    Slip("netem-inside", netem_inside, blocks=True),
    Slip("small-burst", small_burst, blocks=True),
    Slip("small-limit", small_limit, blocks=True),
    Slip("netem-limit", netem_limit, blocks=True),
)
