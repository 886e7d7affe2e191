"""What several disciplines have in common: the scale of probabilities, lists of 32-bit numbers."""

from __future__ import annotations

U32_MAX = 0xFFFFFFFF


def u32(probability: float) -> int:
    """A probability as the kernel takes it: parts of U32_MAX."""
    return round(probability * U32_MAX)


def numbers(prefix: str, names: str) -> tuple[tuple[str, str], ...]:
    """A map of attributes that are all 32-bit numbers: `prefix` before each of `names`, in the kernel's order."""
    return tuple((f"{prefix}_{name}", "uint32") for name in names.split())
