"""Names of congestion controls for people."""

from __future__ import annotations

_NAMES = {
    "bbr": "BBR",
    "bic": "BIC",
    "cdg": "CDG",
    "cubic": "CUBIC",
    "dctcp": "DCTCP",
    "highspeed": "HighSpeed",
    "htcp": "H-TCP",
    "yeah": "YeAH",
}


def algorithm_name(algorithm: str) -> str:
    """Return "Reno" for the kernel's name "reno", "BBR" for "bbr"."""
    return _NAMES.get(algorithm, algorithm.capitalize())
