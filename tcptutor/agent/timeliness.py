"""Checks that the machine was fast enough for a run: its clock and its processors."""

from __future__ import annotations

import time
from pathlib import Path

from tcptutor.agent.processors import ProcessorShares
from tcptutor.run.plausible import Doubts

_CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")


class Timeliness(Doubts):
    """Checks of the machine that a run takes place on."""

    def check_clock(self, hz: int) -> None:
        """Check the resolution of the kernel's clock: queue disciplines and pacing need high-resolution timers."""
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

    def check_duration(self, missing: float) -> None:
        """Check that the traffic did not end early, `missing` seconds before its time."""
        self.checks["traffic missing"] = round(missing, 2)
        if missing:
            self.suspect.append(f"the traffic ended {missing:.1f} s early: the machine is too busy")

    def check_processors(self, shares: ProcessorShares, alone: bool) -> None:
        """Check that the emulation had enough processor time; `alone` if this kernel runs only the lab."""
        self.checks["busiest processor"], self.checks["steal"] = shares.busiest, shares.steal
        self.checks["softirq"] = shares.softirq
        if shares.steal > 0.05:
            self.suspect.append(
                f"the hypervisor took {shares.steal:.0%} of a processor: give the machine more of it"
            )
        if shares.softirq > 0.8:
            self.suspect.append(
                f"a processor spent {shares.softirq:.0%} of the time on packets: {self._remedy()}"
            )
        if alone and shares.busiest > 0.98:
            self.suspect.append(
                f"a processor was busy for {shares.busiest:.0%} of the time and may be the bottleneck: {self._remedy()}"
            )

    def _remedy(self) -> str:
        """Suggest how to reduce the work: writes smaller than a segment cost more than the rate does."""
        write = self.experiment.write
        if write is not None and write < self.experiment.segment:
            return f"it writes {write} byte{'' if write == 1 else 's'} at a time, take a longer length"
        return "take a lower rate"
