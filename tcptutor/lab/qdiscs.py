"""The queue disciplines in the kernel's own terms, as plugins of pyroute2's tc message.

pyroute2 knows some of them in part (netem without seed, bursts and distributions) and some not at all (fq, red).
Each class here writes its settings and reads the same names back, so that what the kernel holds can be compared
with what was asked for. Attribute numbers and structures: linux/pkt_sched.h. The 64-bit attributes carry what the
old 32-bit fields round: delays in nanoseconds, rates above 34 Gbit/s.
"""

from __future__ import annotations

import math
import struct
from functools import cache
from statistics import NormalDist
from typing import Any

from pyroute2.netlink import nla
from pyroute2.netlink.rtnl import TC_H_ROOT
from pyroute2.netlink.rtnl.tcmsg import plugins, sched_netem

_LINKLAYER_ETHERNET = 1
U32_MAX = 0xFFFFFFFF
_DISTRIBUTION_SIZE, _DISTRIBUTION_SCALE = 4096, 8192
"""Entries of a delay distribution, and what stands for one standard deviation (NETEM_DIST_SCALE)."""


def _u32(probability: float) -> int:
    return round(probability * U32_MAX)


@cache
def distribution(shape: str) -> bytes:
    """The table from which netem draws: quantiles with mean 0 and standard deviation 1, scaled, 16 bits each.

    pareto has the exponent 3, paretonormal is three parts of it and one of the normal, as in iproute2.
    """
    quantiles = [(n + 0.5) / _DISTRIBUTION_SIZE for n in range(_DISTRIBUTION_SIZE)]
    normal = [NormalDist().inv_cdf(q) for q in quantiles]
    pareto = [(1 - q) ** (-1 / 3) for q in quantiles]
    mixed = [0.25 * n + 0.75 * p for n, p in zip(normal, pareto, strict=True)]
    values = {"normal": normal, "pareto": pareto, "paretonormal": mixed}[shape]
    mean = math.fsum(values) / len(values)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    scaled = [round((value - mean) / deviation * _DISTRIBUTION_SCALE) for value in values]
    return struct.pack(f"{len(scaled)}h", *(max(-32768, min(32767, value)) for value in scaled))


class Netem:
    """netem: delays in ns, `limit` in packets, probabilities, `seed` 64 bits.

    `burst` above 1 makes the losses those of a Gilbert model: good and bad states, all lost in the bad one, which
    lasts `burst` packets in the mean. `shape` is the delay's distribution.
    """

    parent = TC_H_ROOT

    class options(sched_netem.options):  # type: ignore[misc]
        nla_map = (
            ("TCA_NETEM_UNSPEC", "none"),
            ("TCA_NETEM_CORR", "netem_corr"),
            ("TCA_NETEM_DELAY_DIST", "cdata"),
            ("TCA_NETEM_REORDER", "netem_reorder"),
            ("TCA_NETEM_CORRUPT", "netem_corrupt"),
            ("TCA_NETEM_LOSS", "netem_loss"),
            ("TCA_NETEM_RATE", "netem_rate"),
            ("TCA_NETEM_ECN", "uint32"),
            ("TCA_NETEM_RATE64", "uint64"),
            ("TCA_NETEM_PAD", "hex"),
            ("TCA_NETEM_LATENCY64", "int64"),
            ("TCA_NETEM_JITTER64", "int64"),
            ("TCA_NETEM_SLOT", "hex"),
            ("TCA_NETEM_SLOT_DIST", "hex"),
            ("TCA_NETEM_PRNG_SEED", "uint64"),
        )

        class netem_loss(nla):  # type: ignore[misc]
            nla_map = (
                ("NETEM_LOSS_UNSPEC", "none"),
                ("NETEM_LOSS_GI", "hex"),
                ("NETEM_LOSS_GE", "gemodel"),
            )

            class gemodel(nla):  # type: ignore[misc]
                fields = (("p", "I"), ("r", "I"), ("h", "I"), ("k1", "I"))

    @staticmethod
    def get_parameters(values: dict[str, Any]) -> dict[str, Any]:
        loss, burst = values["loss"], values["burst"]
        attributes: list[list[Any]] = [
            ["TCA_NETEM_LATENCY64", values["latency"]],
            ["TCA_NETEM_JITTER64", values["jitter"]],
            ["TCA_NETEM_REORDER", {"prob_reorder": _u32(values["reorder"]), "corr_reorder": 0}],
            [
                "TCA_NETEM_CORR",
                {"delay_corr": 0, "loss_corr": _u32(values["loss_correlation"]), "dup_corr": 0},
            ],
        ]
        if values["seed"] is not None:
            attributes.append(["TCA_NETEM_PRNG_SEED", values["seed"]])
        if values["ecn"]:
            attributes.append(["TCA_NETEM_ECN", 1])
        if values["shape"] != "uniform" and values["jitter"]:
            attributes.append(["TCA_NETEM_DELAY_DIST", distribution(values["shape"])])
        if burst > 1:
            # Entering the bad state loses nothing yet; each packet after it is lost, and ends it with 1 / burst.
            model = {"p": _u32(loss / (1 - loss) / burst), "r": _u32(1 / burst), "h": 0, "k1": 0}
            attributes.append(["TCA_NETEM_LOSS", {"attrs": [["NETEM_LOSS_GE", model]]}])
        return {
            "delay": 0,
            "limit": values["limit"],
            "loss": 0 if burst > 1 else _u32(loss),
            "gap": 1 if values["reorder"] else 0,
            "duplicate": _u32(values["duplicate"]),
            "jitter": 0,
            "attrs": attributes,
        }

    @staticmethod
    def read(options: Any) -> dict[str, Any]:
        loss, burst = options["loss"] / U32_MAX, 1.0
        nested = options.get_attr("TCA_NETEM_LOSS")
        model = nested.get_attr("NETEM_LOSS_GE") if nested is not None else None
        if model is not None and model["r"]:
            burst = U32_MAX / model["r"]
            odds = model["p"] / U32_MAX * burst
            loss = odds / (1 + odds)
        correlation = options.get_attr("TCA_NETEM_CORR") or {"loss_corr": 0}
        reorder = options.get_attr("TCA_NETEM_REORDER") or {"prob_reorder": 0}
        rate = options.get_attr("TCA_NETEM_RATE") or {"rate": 0}
        return {
            "rate": options.get_attr("TCA_NETEM_RATE64") or rate["rate"],
            "latency": options.get_attr("TCA_NETEM_LATENCY64"),
            "jitter": options.get_attr("TCA_NETEM_JITTER64"),
            "loss": loss,
            "burst": burst,
            "loss_correlation": correlation["loss_corr"] / U32_MAX,
            "duplicate": options["duplicate"] / U32_MAX,
            "reorder": reorder["prob_reorder"] / U32_MAX,
            "ecn": bool(options.get_attr("TCA_NETEM_ECN")),
            "limit": options["limit"],
            "seed": options.get_attr("TCA_NETEM_PRNG_SEED"),
        }


class Tbf:
    """tbf: `rate` in bytes per second, `burst` and `limit` in bytes."""

    parent = TC_H_ROOT

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
        # With a link layer named, the kernel needs no rate table from us (sch_tbf.c, tbf_change).
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
        return {"rate": options.get_attr("TCA_TBF_RATE64") or parms["rate"], "limit": parms["limit"]}

    @staticmethod
    def fix_request(request: Any) -> None:
        # The message has an attribute of that name, an estimator; ours is in the options.
        if "rate" in request:
            del request["rate"]


class Fq:
    """fq: `maxrate` in bytes per second for each flow, `limit` in packets; either may be left out."""

    parent = TC_H_ROOT

    class options(nla):  # type: ignore[misc]
        nla_map = tuple(
            (f"TCA_FQ_{name}", "uint32")
            for name in (
                "UNSPEC",
                "PLIMIT",
                "FLOW_PLIMIT",
                "QUANTUM",
                "INITIAL_QUANTUM",
                "RATE_ENABLE",
                "FLOW_DEFAULT_RATE",
                "FLOW_MAX_RATE",
                "BUCKETS_LOG",
                "FLOW_REFILL_DELAY",
                "ORPHAN_MASK",
                "LOW_RATE_THRESHOLD",
            )
        )

    @staticmethod
    def get_parameters(values: dict[str, Any]) -> dict[str, Any]:
        attributes = []
        if "maxrate" in values:
            attributes.append(["TCA_FQ_FLOW_MAX_RATE", min(values["maxrate"], U32_MAX)])
        if "limit" in values:
            attributes += [["TCA_FQ_PLIMIT", values["limit"]], ["TCA_FQ_FLOW_PLIMIT", values["limit"]]]
        return {"attrs": attributes}

    @staticmethod
    def read(options: Any) -> dict[str, Any]:
        return {
            "maxrate": options.get_attr("TCA_FQ_FLOW_MAX_RATE"),
            "limit": options.get_attr("TCA_FQ_PLIMIT"),
        }


class _Aqm:
    """codel and fq_codel: `limit` in packets, `ecn`; target 5 ms and interval 100 ms are the kernel's."""

    parent = TC_H_ROOT
    prefix: str

    @classmethod
    def get_parameters(cls, values: dict[str, Any]) -> dict[str, Any]:
        return {
            "attrs": [
                [f"{cls.prefix}_{name.upper()}", int(values[name])]
                for name in ("limit", "ecn")
                if name in values
            ]
        }

    @classmethod
    def read(cls, options: Any) -> dict[str, Any]:
        return {
            "limit": options.get_attr(f"{cls.prefix}_LIMIT"),
            "ecn": bool(options.get_attr(f"{cls.prefix}_ECN")),
        }


def _numbers(prefix: str, names: str) -> tuple[tuple[str, str], ...]:
    return tuple((f"{prefix}_{name}", "uint32") for name in names.split())


class Codel(_Aqm):
    prefix = "TCA_CODEL"

    class options(nla):  # type: ignore[misc]
        nla_map = _numbers("TCA_CODEL", "UNSPEC TARGET LIMIT INTERVAL ECN CE_THRESHOLD")


class FqCodel(_Aqm):
    prefix = "TCA_FQ_CODEL"

    class options(nla):  # type: ignore[misc]
        nla_map = _numbers(
            "TCA_FQ_CODEL",
            "UNSPEC TARGET LIMIT INTERVAL ECN FLOWS QUANTUM CE_THRESHOLD DROP_BATCH_SIZE MEMORY_LIMIT",
        )


class Cake:
    """cake without its own shaper, so that it schedules what the tbf above it lets out: `limit` in bytes."""

    parent = TC_H_ROOT

    class options(nla):  # type: ignore[misc]
        nla_map = (
            ("TCA_CAKE_UNSPEC", "none"),
            ("TCA_CAKE_PAD", "uint64"),
            ("TCA_CAKE_BASE_RATE64", "uint64"),
            *_numbers("TCA_CAKE", "DIFFSERV_MODE ATM FLOW_MODE OVERHEAD RTT TARGET AUTORATE MEMORY"),
        )

    @staticmethod
    def get_parameters(values: dict[str, Any]) -> dict[str, Any]:
        return {"attrs": [["TCA_CAKE_MEMORY", values["limit"]]] if "limit" in values else []}

    @staticmethod
    def read(options: Any) -> dict[str, Any]:
        return {"limit": options.get_attr("TCA_CAKE_MEMORY")}


class Red:
    """red: `limit`, `low` and `high` in bytes, `probability` at `high`, `rate` in bytes per second, `ecn`.

    The average follows the queue with the weight that makes a burst of low packets pass (tc-red's rule).
    """

    parent = TC_H_ROOT
    _ECN = 1

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
        # The weight 2^-Wlog of a new measurement: the largest that lets the usual burst pass unmarked.
        burst = (2 * low + high) / 3 / values["frame"]
        weight = next(w for w in range(1, 32) if w == 31 or _passes(burst, low / values["frame"], 2.0**-w))
        parms = {
            "limit": values["limit"],
            "qth_min": low,
            "qth_max": high,
            "Wlog": weight,
            "Plog": max(1, round(math.log2((high - low) / probability))),
            "Scell_log": 10,
            "flags": Red._ECN if values["ecn"] else 0,
        }
        # How much an idle time of so many cells lowers the average, as powers of two (tc_core.c).
        cell = 1024 / values["rate"] * 1e6
        packet = values["frame"] / values["rate"] * 1e6
        decay = -math.log2(1 - 2.0**-weight)
        table = bytes(min(255, round(n * cell / packet * decay)) for n in range(255)) + b"\x1f"
        return {
            "attrs": [
                ["TCA_RED_PARMS", parms],
                ["TCA_RED_STAB", table],
                ["TCA_RED_MAX_P", _u32(probability)],
            ]
        }

    @staticmethod
    def fix_request(request: Any) -> None:
        Tbf.fix_request(request)

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
    """Whether a burst of so many packets into an empty queue keeps the average below `low` packets."""
    limit: float = (1 - (1 - weight) ** burst) / weight
    return burst + 1 - low < limit


KINDS: dict[str, Any] = {
    "netem": Netem,
    "tbf": Tbf,
    "fq": Fq,
    "codel": Codel,
    "fq_codel": FqCodel,
    "cake": Cake,
    "red": Red,
}


def register() -> None:
    """Teach pyroute2 these qdiscs; safe to call twice."""
    plugins.update(KINDS)
