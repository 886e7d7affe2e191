"""Near misses in settings of hosts, such as sysctls, and in runs, such as too few streams."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.course.goals.goal import Condition
from tcptutor.course.goals.lab_view import ALGORITHM, LabView
from tcptutor.course.goals.near_misses.slip import Attempt, Slip, amount, and_list

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


HOST_SLIPS = (
    Slip("older-connection", older_connection),
    Slip("another-host", another_host),
    Slip("twin", twin),
    Slip("first-of-three", first_of_three),
)


def reversed_flow(attempt: Attempt) -> str:
    """Detect iperf3 -R."""
    run = attempt.view.run or attempt.latest
    if run is None or not attempt.asked.about_run or "reverse" not in run.experiment.flows.directions:
        return ""
    sender = attempt.view.hosts[1]
    return f"with -R {sender} sends, over the reverse path: remove -R"


def changed_meanwhile(attempt: Attempt) -> str:
    """Detect a path that changed during the run."""
    run = attempt.view.run or attempt.latest
    if run is None or not attempt.asked.about_run:
        return ""
    names = [name for name, _ in attempt.asked.path_conditions() if name in run.changed_quantities]
    if not names:
        return ""
    return f"the {names[0]} changed during the run, so the run shows neither value: set it first, then start iperf3"


def streams(attempt: Attempt) -> str:
    """Detect a wrong number of streams."""
    asked = attempt.asked.condition_on("run.streams")
    if asked is None or attempt.latest is None or asked.holds(attempt.view._replace(run=attempt.latest)):
        return ""
    found = attempt.latest.experiment.flows.streams
    return f"your run has {found} {'stream' if found == 1 else 'streams'}: set their number with -P"


def too_short(attempt: Attempt) -> str:
    """Detect a run that ended before it had carried or lasted enough."""
    run = attempt.latest
    if run is None or not run.ended:
        return ""
    carried, lasted = attempt.asked.condition_on("flow.bytes"), attempt.asked.condition_on("run.duration")
    if carried and run.largest_payload < carried.requirement.low:
        had, wanted = amount(run.largest_payload, "size"), amount(carried.requirement.low, "size")
        return f"the largest flow carried {had} of {wanted}: iperf3 sends for -t seconds, by default 10"
    if lasted and not lasted.holds(attempt.view._replace(run=run)):
        return f"it lasted {amount(run.seconds, 'time')} of {amount(lasted.requirement.low, 'time')}: set it with -t"
    return ""


def unsound(attempt: Attempt) -> str:
    """Detect a run that cannot be trusted."""
    run = attempt.view.run or attempt.latest
    if run is None or not attempt.asked.at_end or not run.ended or not run.fault:
        return ""
    return f"your run does not count: {run.fault}"


def _next_step(reason: str) -> str:
    """Return advice for a machine that could not keep up."""
    too_slow = any(word in reason for word in ("too busy", "too slow", "a processor", "hypervisor"))
    return "; close other programs and run it again" if too_slow else ""


def another_value(attempt: Attempt) -> str:
    """Report a measured value that does not satisfy the goal."""
    run = attempt.latest
    if run is None or not run.ended or run.run is None:
        return ""
    view = attempt.view._replace(run=run, state=run.state)
    for each in attempt.asked.unmet(view):
        value = each.term.value(view) if each.term.at_end else None
        if value is None:
            continue
        what = each.term.name.removeprefix("run.").replace("-", " ").replace("_", " ")
        had = value if isinstance(value, str) else amount(value, each.term.kind)
        if run.clock_share < 1 and each.term.name == "run.throughput":
            had += f" (corrected for a link that this machine ran at {run.clock_share:.0%} of its rate)"
        fidelity = run.run.fidelity
        doubt = (
            f"; this run is not reliable: {fidelity.reasons[0]}{_next_step(fidelity.reasons[0])}"
            if fidelity.status != "valid" and fidelity.reasons
            else ""
        )
        return f"your last run: {what} {had}, the goal is {each.requirement.text}{doubt}"
    return ""


RUN_SLIPS = (
    Slip("reversed", reversed_flow, blocks=True),
    Slip("changed-meanwhile", changed_meanwhile, blocks=True),
    Slip("streams", streams),
    Slip("too-short", too_short),
    Slip("unsound", unsound, blocks=True),
    Slip("another-value", another_value),
)
