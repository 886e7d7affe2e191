"""Description of a parameter as text and JSON: meaning, unit, bounds, default, and where it is set."""

from __future__ import annotations

from typing import Any

from tcptutor import course
from tcptutor.base.columns import table
from tcptutor.commands.output import toned, width
from tcptutor.spec import Experiment, Parameter

_UNITS = {
    "rate": "a rate: bit/s, kbit/s, Mbit/s, Gbit/s",
    "time": "a time: s, ms, us, min",
    "ratio": "a probability: a number with %",
    "size": "a size: bytes, kB, MB, KiB, MiB",
    "window": "a size: bytes, kB, MB, KiB, MiB; or BDP, times the rate and the delay",
    "count": "a whole number",
    "number": "a number",
}
_KIND_EXAMPLES = {
    "rate": "20Mbit/s", "time": "20ms", "ratio": "0.2%", "size": "16KiB", "window": "0.5BDP", "count": "4",
    "number": "3", "name": "cubic",
}  # fmt: skip
_EXAMPLES = {
    "acks": "on",
    "algorithms": "reno,cubic",
    "bytes": "2MB",
    "capture": "on",
    "capture_at": "h1-eth0,s1-eth2",
    "capture_size": "64MiB",
    "changes": "'10s rate=5Mbit/s'",
    "directions": "forward,reverse",
    "duration": "10s",
    "mss": "1000",
    "mtu": "1400",
    "offloads": "on",
    "pair_delays": "10ms,40ms",
    "snaplen": "1514",
    "starts": "0s,5s",
    "udp_streams": "1",
    "warmup": "2s",
}
"""Examples for parameters where the example of the kind would be out of bounds, or odd."""
_WITH = {
    "algorithms": ("streams=2",),
    "capture_at": ("capture=on",),
    "capture_size": ("capture=on",),
    "directions": ("streams=2",),
    "jitter_shape": ("jitter=2ms",),
    "pair_delays": ("pairs=2",),
    "reverse_queue": ("reverse_rate=1Mbit/s",),
    "snaplen": ("capture=on",),
    "starts": ("streams=2",),
    "udp_rate": ("udp_streams=1",),
}
"""Other settings that the example needs."""


def explained(whole: course.Course, known: Parameter) -> tuple[list[str], dict[str, Any]]:
    """Describe the parameter in lines and as a JSON document."""
    defaults = Experiment(name="")
    default, sample = known.text(known.of(defaults)), example(known)
    if known.name == "queue":
        default = "1 BDP, at least 64 full frames"
    users = _users(whole, known, defaults)
    rows = [
        ("what", known.help),
        ("written as", _UNITS.get(known.kind, "one of its values" if known.choices else "a name")),
        ("values", known.bounds),
        ("default", default),
        *(
            ("set by" if place == 0 else "", f"{who}: {value}")
            for place, (who, value) in enumerate(users.items())
        ),
        ("example", sample),
    ]
    if known.kind == "changes":
        rows[1] = ("written as", "a list, separated by semicolons")
    elif known.many:
        rows[1] = ("written as", f"a list, separated by commas, of {rows[1][1]}")
    room = width()
    lines = table(rows, (10,), fold=room is not None, width=room or 0)
    document = {
        "parameter": known.name,
        "help": known.help,
        "kind": known.kind,
        "values": known.bounds,
        "default": known.of(defaults),
        "set_by": users,
        "example": sample,
    }
    return [toned(known.name, "title"), *lines], document


def sysctl_explained(name: str) -> tuple[list[str], dict[str, Any]]:
    """Describe a sysctl below net.ipv4, which --set accepts as well."""
    what = f"the hosts' sysctl net.ipv4.{name}, passed to the kernel unchanged"
    sample = f"tcptutor run random-loss --set {name}=VALUE"
    lines = table(
        [("what", what), ("see", "man 7 tcp; ip-sysctl.rst of the kernel"), ("example", sample)], (10,)
    )
    return [toned(name, "title"), *lines], {"parameter": name, "help": what, "example": sample}


def example(known: Parameter) -> str:
    """Return a command that sets the parameter."""
    usual = known.choices[-1] if known.choices else _KIND_EXAMPLES.get(known.kind, "")
    settings = [f"{known.name}={_EXAMPLES.get(known.name, usual)}", *_WITH.get(known.name, ())]
    return " ".join(["tcptutor run random-loss", *(f"--set {each}" for each in settings)])


def _users(whole: course.Course, known: Parameter, defaults: Experiment) -> dict[str, str]:
    """Return the experiments and pages with a value other than the default, and that value."""
    users: dict[str, str] = {}
    files = {name: each for module in whole.modules for name, each in module.experiments.items()}
    for module in whole.modules:
        for name, experiment in module.experiments.items():
            if (value := known.of(experiment)) != known.of(defaults):
                users[name] = known.text(value)
        for place, step in enumerate(module.steps, 1):
            if ran := step.experiment or step.sweep:
                usual = known.of(files[ran.name])
                values = [known.of(each) for each in step.experiments]
                if any(value != usual for value in values):
                    shown = dict.fromkeys(known.text(value) for value in values)
                    users[f"{module.id}, page {place}"] = ", ".join(shown)
    return users
