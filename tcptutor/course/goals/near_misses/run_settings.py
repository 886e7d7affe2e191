"""Near misses in runs: direction, number of streams, duration, changes during the run."""

from __future__ import annotations

from tcptutor.course.goals.near_misses.slip import Attempt, Slip, amount


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


SLIPS = (
    Slip("reversed", reversed_flow, blocks=True),
    Slip("changed-meanwhile", changed_meanwhile, blocks=True),
    Slip("streams", streams),
    Slip("too-short", too_short),
    Slip("unsound", unsound, blocks=True),
    Slip("another-value", another_value),
)
