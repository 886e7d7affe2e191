"""Examples that Hypothesis draws for a test: in a plain run fewer, and the same each time."""

from __future__ import annotations

from hypothesis import settings

PLAIN = 25
"""Examples in a plain run of a test that has 100 in a full one, which is Hypothesis' own number."""


def examples(full: int) -> int:
    """Return how many examples to draw in this run where a full run draws `full`."""
    return max(full * settings().max_examples // 100, 1)
