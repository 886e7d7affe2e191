"""Near misses in host settings: wrong host, wrong sysctl, a missing number, an older connection."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.course.goals.goal import Condition
from tcptutor.course.goals.lab_view import ALGORITHM, LabView
from tcptutor.course.goals.near_misses.slip import Attempt, Slip, and_list

_TWINS = {"tcp_rmem": "tcp_wmem", "tcp_wmem": "tcp_rmem"}
_USE = {"tcp_rmem": "which limits the receive window", "tcp_wmem": "which limits unacknowledged data"}


def _unmet(attempt: Attempt) -> Iterator[tuple[Condition, tuple[str, ...]]]:
    """Yield the unmet conditions on sysctls, with their hosts."""
    for each in attempt.unmet:
        if each.term.sysctl:
            yield each, _hosts(each, attempt.view)


def _hosts(each: Condition, view: LabView) -> tuple[str, ...]:
    if each.term.host:
        return (each.term.host,)
    return view.senders if each.term.sysctl == ALGORITHM else view.hosts


def another_host(attempt: Attempt) -> str:
    """Detect the right value on a host where it has no effect on the goal."""
    for each, hosts in _unmet(attempt):
        right = [
            one.host
            for one in attempt.view.state.sysctls
            if one.name == each.term.sysctl and each.requirement.holds(one.now) and one.host not in hosts
        ]
        left = [
            host for host in hosts if not each.requirement.holds(attempt.view.sysctl(host, each.term.sysctl))
        ]
        if right and left:
            if each.term.sysctl == ALGORITHM:
                what = "forwards packets and has no connections" if right[0].startswith("s") else "receives"
                return f"{right[0]} {what}: the sender chooses a flow's algorithm; set it on {and_list(left)}"
            return f"it is set on {and_list(right)}, but every host has its own value: set it on {and_list(left)}"
        partly = [host for host in hosts if host not in left]
        if partly and left and len(hosts) > 1:
            return f"it is set on {and_list(partly)} but not yet on {and_list(left)}: every host has its own value"
    return ""


def twin(attempt: Attempt) -> str:
    """Detect tcp_rmem set instead of tcp_wmem, or vice versa."""
    for each, hosts in _unmet(attempt):
        other = _TWINS.get(each.term.sysctl, "")
        for host in hosts:
            if other and each.requirement.holds(attempt.view.sysctl(host, other)):
                wanted = each.term.sysctl
                return (
                    f"{host} has the value in {other}, {_USE[other]}: the goal needs {wanted}, {_USE[wanted]}"
                )
    return ""


def first_of_three(attempt: Attempt) -> str:
    """Detect a single number, which sets only the first of three."""
    for each, hosts in _unmet(attempt):
        largest = each.requirement.words[0].split()[-1:] if each.requirement.words else []
        for host in hosts:
            now = (attempt.view.sysctl(host, each.term.sysctl) or "").split()
            if len(now) == 3 and now[:1] == largest and each.requirement.text.split() != now:
                return (
                    f"{each.term.sysctl} has three numbers (minimum, initial, maximum): a single one sets the minimum,"
                    f" which is now {now[0]} on {host}; give all three in quotes"
                )
    return ""


def older_connection(attempt: Attempt) -> str:
    """Detect a setting made after the flow had started."""
    if not attempt.asked.about_run or attempt.latest is None:
        return ""
    for each in attempt.asked.conditions:
        if not each.term.sysctl or each.holds(
            attempt.view._replace(run=attempt.latest, state=attempt.latest.state)
        ):
            continue
        sets = {one.host for one in attempt.view.state.sysctls if one.name == each.term.sysctl}
        if each.holds(attempt.view._replace(run=None)) and sets:
            began = "ended before the change" if attempt.latest.ended else "started before the change"
            return f"the setting applies to new connections, and your flow {began}: start iperf3 again"
    return ""


SLIPS = (
    Slip("older-connection", older_connection),
    Slip("another-host", another_host),
    Slip("twin", twin),
    Slip("first-of-three", first_of_three),
)
