"""RED's settings as the kernel takes them (red_check_params): nothing is shifted by 32 bits or more."""

from __future__ import annotations

import pytest

from tcptutor.agent.qdiscs.queues import Red

FRAME = 1514


@pytest.mark.parametrize("rate", [125_000, 1_250_000, 5_000_000, 12_500_000, 1_250_000_000])
@pytest.mark.parametrize("queue", [15_000, 75_000, 625_000, 15_000_000])
def test_the_kernel_takes_any_queue_at_any_rate(rate: int, queue: int) -> None:
    low, high = max(queue // 6, 3 * FRAME), max(queue // 2, 9 * FRAME)
    values = {
        "limit": queue,
        "low": low,
        "high": high,
        "probability": 0.1,
        "frame": FRAME,
        "rate": rate,
        "ecn": False,
    }
    attributes = dict(Red.get_parameters(values)["attrs"])
    table = attributes["TCA_RED_STAB"]
    assert len(table) == 256
    assert max(table) < 32
    assert list(table) == sorted(table), "a longer idle time lowers the average by more"
    assert high.bit_length() + attributes["TCA_RED_PARMS"]["Wlog"] < 32
