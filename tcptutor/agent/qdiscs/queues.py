"""Disciplines that limit a rate or manage a queue: tbf, fq, codel, fq_codel, cake, red."""

from __future__ import annotations

import math
from typing import Any

from tcptutor.agent.qdiscs.attributes import U32_MAX, nla, numbers, u32

_LINKLAYER_ETHERNET = 1
TICK = 64e-9
"""Unit of a bucket's time, s (pkt_sched.h, PSCHED_SHIFT)."""
_AQM = ("limit", "target", "interval", "ce_threshold")


class Tbf:
    """tbf: `rate` in bytes per second, `burst` and `limit` in bytes."""

    class options(nla):  # type: ignore[misc]
        nla_map = (
            ("TCA_TBF_UNSPEC", "none"),
            ("TCA_TBF_PARMS", "tbf_parms"),
            ("TCA_TBF_RTAB", "hex"),
            ("TCA_TBF_PTAB", "hex"),
            ("TCA_TBF_RATE64", "uint64"),
            ("TCA_TBF_PRATE64", "uint64"),
            ("TCA_TBF_BURST", "uint32"),
            ("TCA_TBF_PBURST", "uint32"),
            ("TCA_TBF_PAD", "hex"),
        )

        class tbf_parms(nla):  # type: ignore[misc]
            fields = (
                ("rate_cell_log", "B"),
                ("rate_linklayer", "B"),
                ("rate_overhead", "H"),
                ("rate_cell_align", "h"),
                ("rate_mpu", "H"),
                ("rate", "I"),
                ("peak_cell_log", "B"),
                ("peak_linklayer", "B"),
                ("peak_overhead", "H"),
                ("peak_cell_align", "h"),
                ("peak_mpu", "H"),
                ("peak", "I"),
                ("limit", "I"),
                ("buffer", "I"),
                ("mtu", "I"),
            )

    @staticmethod
    def get_parameters(values: dict[str, Any]) -> dict[str, Any]:
        # With a link layer given, the kernel needs no rate table (sch_tbf.c, tbf_change).
        parms = dict.fromkeys((name for name, _ in Tbf.options.tbf_parms.fields), 0)
        parms |= {
            "rate": min(values["rate"], U32_MAX),
            "rate_linklayer": _LINKLAYER_ETHERNET,
            "limit": values["limit"],
        }
        attributes: list[list[Any]] = [["TCA_TBF_PARMS", parms], ["TCA_TBF_BURST", values["burst"]]]
        if values["rate"] > U32_MAX:
            attributes.append(["TCA_TBF_RATE64", values["rate"]])
        return {"attrs": attributes}

    @staticmethod
    def read(options: Any) -> dict[str, Any]:
        parms = options.get_attr("TCA_TBF_PARMS")
        rate = options.get_attr("TCA_TBF_RATE64") or parms["rate"]
        # The kernel stores the bucket as the time in which it fills.
        settings = {"rate": rate, "burst": round(rate * parms["buffer"] * TICK), "limit": parms["limit"]}
        peak = options.get_attr("TCA_TBF_PRATE64") or parms["peak"]
        return settings | ({"peak": peak} if peak else {})


class Fq:
    """fq: `maxrate` in bytes per second for each flow, `limit` in packets, `pacing` whether it enforces sockets' rates.

    All are optional.
    """

    class options(nla):  # type: ignore[misc]
        nla_map = numbers(
            "TCA_FQ",
            "UNSPEC PLIMIT FLOW_PLIMIT QUANTUM INITIAL_QUANTUM RATE_ENABLE FLOW_DEFAULT_RATE FLOW_MAX_RATE BUCKETS_LOG "
            "FLOW_REFILL_DELAY ORPHAN_MASK LOW_RATE_THRESHOLD",
        )

    @staticmethod
    def get_parameters(values: dict[str, Any]) -> dict[str, Any]:
        attributes = []
        if "maxrate" in values:
            attributes.append(["TCA_FQ_FLOW_MAX_RATE", min(values["maxrate"], U32_MAX)])
        if "limit" in values:
            attributes += [["TCA_FQ_PLIMIT", values["limit"]], ["TCA_FQ_FLOW_PLIMIT", values["limit"]]]
        if "pacing" in values:
            attributes.append(["TCA_FQ_RATE_ENABLE", int(values["pacing"])])
        return {"attrs": attributes}

    @staticmethod
    def read(options: Any) -> dict[str, Any]:
        return {
            "pacing": bool(options.get_attr("TCA_FQ_RATE_ENABLE")),
            "maxrate": options.get_attr("TCA_FQ_FLOW_MAX_RATE"),
            "limit": options.get_attr("TCA_FQ_PLIMIT"),
        }


class _Aqm:
    """codel and fq_codel: `limit` in packets, `ecn`, and `ce_threshold` in us.

    `target` and `interval`, in us, keep the kernel's defaults.
    """

    prefix: str

    @classmethod
    def get_parameters(cls, values: dict[str, Any]) -> dict[str, Any]:
        return {
            "attrs": [
                [f"{cls.prefix}_{name.upper()}", int(values[name])]
                for name in ("limit", "ecn", "ce_threshold")
                if name in values
            ]
        }

    @classmethod
    def read(cls, options: Any) -> dict[str, Any]:
        settings = {name: options.get_attr(f"{cls.prefix}_{name.upper()}") for name in _AQM}
        return settings | {"ecn": bool(options.get_attr(f"{cls.prefix}_ECN"))}


class Codel(_Aqm):
    """codel; settings as in `_Aqm`."""

    prefix = "TCA_CODEL"

    class options(nla):  # type: ignore[misc]
        nla_map = numbers("TCA_CODEL", "UNSPEC TARGET LIMIT INTERVAL ECN CE_THRESHOLD")


class FqCodel(_Aqm):
    """fq_codel; settings as in `_Aqm`."""

    prefix = "TCA_FQ_CODEL"

    class options(nla):  # type: ignore[misc]
        nla_map = numbers(
            "TCA_FQ_CODEL",
            "UNSPEC TARGET LIMIT INTERVAL ECN FLOWS QUANTUM CE_THRESHOLD DROP_BATCH_SIZE MEMORY_LIMIT",
        )


class Cake:
    """cake without its own shaper, which schedules the packets that the tbf above it releases: `limit` in bytes.

    A user's own cake may have a `rate`, bytes per second.
    """

    class options(nla):  # type: ignore[misc]
        nla_map = (
            ("TCA_CAKE_UNSPEC", "none"),
            ("TCA_CAKE_PAD", "uint64"),
            ("TCA_CAKE_BASE_RATE64", "uint64"),
            *numbers("TCA_CAKE", "DIFFSERV_MODE ATM FLOW_MODE OVERHEAD RTT TARGET AUTORATE MEMORY"),
        )

    @staticmethod
    def get_parameters(values: dict[str, Any]) -> dict[str, Any]:
        return {"attrs": [["TCA_CAKE_MEMORY", values["limit"]]] if "limit" in values else []}

    @staticmethod
    def read(options: Any) -> dict[str, Any]:
        return {
            "limit": options.get_attr("TCA_CAKE_MEMORY"),
            "rate": options.get_attr("TCA_CAKE_BASE_RATE64"),
        }


class Red:
    """red: `limit`, `low` and `high` in bytes, `probability` at `high`, `rate` in bytes per second, `ecn`.

    The average follows the queue with the weight that lets a burst of low packets pass (tc-red's rule).
    """

    _ECN = 1
    _CELL_LOG = 10

    class options(nla):  # type: ignore[misc]
        nla_map = (
            ("TCA_RED_UNSPEC", "none"),
            ("TCA_RED_PARMS", "red_parms"),
            ("TCA_RED_STAB", "cdata"),
            ("TCA_RED_MAX_P", "uint32"),
        )

        class red_parms(nla):  # type: ignore[misc]
            fields = (
                ("limit", "I"),
                ("qth_min", "I"),
                ("qth_max", "I"),
                ("Wlog", "B"),
                ("Plog", "B"),
                ("Scell_log", "B"),
                ("flags", "B"),
            )

    @staticmethod
    def get_parameters(values: dict[str, Any]) -> dict[str, Any]:
        low, high, probability = values["low"], values["high"], values["probability"]
        # The weight 2^-Wlog of a new measurement: the largest that lets a usual burst pass unmarked.
        burst = (2 * low + high) / 3 / values["frame"]
        weight = next(w for w in range(1, 32) if w == 31 or _passes(burst, low / values["frame"], 2.0**-w))
        # The threshold takes some of the average's 32 bits (red_check_params), so with a large queue it follows faster
        # than the rule requires.
        weight = min(weight, 31 - high.bit_length())
        parms = {
            "limit": values["limit"],
            "qth_min": low,
            "qth_max": high,
            "Wlog": weight,
            "Plog": max(1, round(math.log2((high - low) / probability))),
            "Scell_log": Red._CELL_LOG,
            "flags": Red._ECN if values["ecn"] else 0,
        }
        # Powers of two by which an idle time in cells of 2^Scell_log us lowers the average (tc_core.c); the kernel
        # accepts less than 32.
        packet = values["frame"] / values["rate"] * 1e6
        decay = -math.log2(1 - 2.0**-weight)
        table = bytes(min(31, int(cell * 2**Red._CELL_LOG / packet * decay)) for cell in range(255)) + b"\x1f"
        return {
            "attrs": [
                ["TCA_RED_PARMS", parms],
                ["TCA_RED_STAB", table],
                ["TCA_RED_MAX_P", u32(probability)],
            ]
        }

    @staticmethod
    def read(options: Any) -> dict[str, Any]:
        parms = options.get_attr("TCA_RED_PARMS")
        return {
            "limit": parms["limit"],
            "low": parms["qth_min"],
            "high": parms["qth_max"],
            "probability": (options.get_attr("TCA_RED_MAX_P") or 0) / U32_MAX,
            "ecn": bool(parms["flags"] & Red._ECN),
        }


def _passes(burst: float, low: float, weight: float) -> bool:
    """Return whether a burst of packets into an empty queue keeps the average below `low` packets."""
    limit: float = (1 - (1 - weight) ** burst) / weight
    return burst + 1 - low < limit
