"""Whether the machine kept up with a run: its clock, its processors, and the samples in time."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from tcptutor.lab.load import Busy
from tcptutor.lab.sampler import LATE, Timing
from tcptutor.run import Fidelity, Status
from tcptutor.spec import Experiment

_UNPUNCTUAL = 0.1
"""The share of samples that may be late, or missing."""
_CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")


@dataclass
class Timeliness:
    """Collects reasons for doubt of a run of `experiment`; `verdict` is their sum."""

    experiment: Experiment
    checks: dict[str, float | int | str | bool] = field(default_factory=dict)
    suspect: list[str] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)

    def clock(self, hz: int) -> None:
        """Is the kernel's time fine enough? Queue disciplines and pacing need timers of their own, not ticks."""
        self.checks["kernel HZ"] = hz
        resolution = time.clock_getres(time.CLOCK_MONOTONIC)
        try:
            source = _CLOCK_SOURCE.read_text().strip()
        except OSError:
            source = "unknown"
        self.checks["clock source"] = source
        if resolution > 1e-6:
            self.suspect.append(
                f"the kernel's timers move in steps of {resolution * 1e3:g} ms: delays and rates are coarse"
            )
        if source in ("jiffies", "refined-jiffies"):
            self.suspect.append(f"the kernel counts time by {source}, {hz} a second: RTTs are coarse")

    def ended_early(self, missing: float) -> None:
        """Did the traffic last as long as it should, but for `missing` seconds?"""
        self.checks["traffic missing"] = round(missing, 2)
        if missing:
            self.suspect.append(f"the traffic ended {missing:.1f} s before its time: the machine is too busy")

    def sampling(self, timing: Timing) -> None:
        """Were the samples there, and in time?"""
        self.checks["longest sampling gap"] = round(timing.longest_gap, 4)
        if timing.longest_gap > max(5 * timing.period, 0.25):
            self.suspect.append(f"no samples for {timing.longest_gap:.2f} s: the machine is too busy")
        self.checks["missing samples"] = round(timing.missing, 4)
        if timing.missing > _UNPUNCTUAL:
            self.suspect.append(f"{timing.missing:.0%} of the samples are missing: the machine is too busy")
        self.checks["late timers"] = round(timing.late, 4)
        if timing.late > _UNPUNCTUAL:
            self.suspect.append(
                f"{timing.late:.0%} of the timers were more than {LATE * 1e3:g} ms late: the machine is too busy"
            )

    def processors(self, busy: Busy, alone: bool) -> None:
        """Had the emulation the processors that it needs? `alone`: nothing but the lab runs on this kernel."""
        self.checks["busiest processor"], self.checks["steal"] = busy.busiest, busy.steal
        self.checks["softirq"] = busy.softirq
        if busy.steal > 0.05:
            self.suspect.append(
                f"the hypervisor took {busy.steal:.0%} of a processor: give the machine more of it"
            )
        if busy.softirq > 0.8:
            self.suspect.append(
                f"a processor spent {busy.softirq:.0%} of the time on packets: take a lower rate"
            )
        if alone and busy.busiest > 0.98:
            self.suspect.append(
                f"a processor was busy for {busy.busiest:.0%} of the time and may be the bottleneck: take a lower rate"
            )

    def trace(self, lost: int) -> None:
        """Did the trace of ACKs lose any?"""
        self.checks["lost trace events"] = lost
        if lost:
            self.suspect.append(f"the trace lost {lost} ACKs: take fewer flows or a lower rate")

    def verdict(self) -> Fidelity:
        """The sum of it: valid only where something was looked at."""
        status: Status = "valid" if self.checks else "unchecked"
        if self.suspect or self.invalid:
            status = "invalid" if self.invalid else "suspect"
        return Fidelity(status=status, reasons=(*self.invalid, *self.suspect), checks=self.checks)
