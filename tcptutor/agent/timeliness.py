"""Whether the machine kept up with a run: its clock, and its processors."""

from __future__ import annotations

import time
from pathlib import Path

from tcptutor.agent.load import Busy
from tcptutor.run.plausible import Doubts

_CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")


class Timeliness(Doubts):
    """What a run is asked of the machine that it runs on."""

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
                f"a processor spent {busy.softirq:.0%} of the time on packets: {self._remedy()}"
            )
        if alone and busy.busiest > 0.98:
            self.suspect.append(
                f"a processor was busy for {busy.busiest:.0%} of the time and may be the bottleneck: {self._remedy()}"
            )

    def _remedy(self) -> str:
        """Return what makes less work: writes smaller than a segment cost more than the rate does."""
        write = self.experiment.write
        if write is not None and write < self.experiment.segment:
            return f"it writes {write} byte{'' if write == 1 else 's'} at a time, take a longer length"
        return "take a lower rate"
