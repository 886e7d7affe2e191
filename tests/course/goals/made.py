"""States and runs as a session reports them, made by hand."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from tcptutor.course.goals.goal import Goal, ParsedGoal, read_goal
from tcptutor.run import Environment, Fidelity, Run, Sample
from tcptutor.spec import Experiment, Hosts, Path, host_names
from tcptutor.wire.kernel_state import InterfaceState, QdiscSettings, SessionState, SysctlChange
from tcptutor.wire.protocol import Samples

_ZEROS = dict.fromkeys(Sample.__struct_fields__, 0)
HERE = Environment(backend="guest", clock="real", kernel="6.12", hz=250)


def asked(id: str, when: dict[str, Any], pairs: int = 1, **more: Any) -> ParsedGoal:
    read = read_goal(Goal(id=id, text="It is so", when=when, **more), host_names(pairs))
    assert isinstance(read, ParsedGoal), read
    return read


def netem(**settings: float) -> QdiscSettings:
    return QdiscSettings("netem", "1:", "root", {"delay": 0.0, "loss": 0.0, "limit": 1000, **settings})


def tbf(rate: float, limit: int = 60_000, burst: int = 20_000) -> QdiscSettings:
    return QdiscSettings("tbf", "2:", "1:1", {"rate": rate, "limit": limit, "burst": burst})


def state(
    path: dict[str, Any] | None = None,
    on: dict[str, tuple[QdiscSettings, ...]] | None = None,
    sysctls: tuple[SysctlChange, ...] = (),
    pairs: int = 1,
) -> SessionState:
    """What is told with that path, and with these disciplines on these interfaces."""
    held = on or {}
    ports = [1, 2] if pairs == 1 else range(1, pairs + 2)
    names = [f"h{number}-eth0" for number in range(1, 2 * pairs + 1)]
    names += [f"{switch}-eth{port}" for switch in ("s1", "s2") for port in ports] + ["s1", "s2"]
    assert set(held) <= set(names)
    experiment = Experiment(name="by-hand", path=Path(**(path or {})), hosts=Hosts())
    return SessionState(
        experiment, tuple(InterfaceState(name, held.get(name, ())) for name in names), sysctls
    )


def reno_on(host: str, before: str = "cubic", now: str = "reno") -> SysctlChange:
    return SysctlChange(host, "tcp_congestion_control", before, now)


def carried(t: float, bytes_acked: int, flow: int = 0) -> Samples:
    return Samples(
        t, (Sample(**{**_ZEROS, "flow": flow, "t": t, "bytes_acked": bytes_acked, "app_limited": False}),)
    )


def whole(run: Run, **more: Any) -> Run:
    """`run` as another one, such as of another experiment or of doubtful fidelity."""
    return structs.replace(run, **more)


INVALID = Fidelity(status="invalid", reasons=("netem dropped 12 packets that nobody planned to lose",))
