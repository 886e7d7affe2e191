"""Disciplines that limit a rate: tbf for a link, fq for each flow."""

from __future__ import annotations

from typing import Any

from tcptutor.agent.qdiscs.attributes import U32_MAX, nla, numbers

_LINKLAYER_ETHERNET = 1
TICK = 64e-9
"""Unit of a bucket's time, s (pkt_sched.h, PSCHED_SHIFT)."""


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
