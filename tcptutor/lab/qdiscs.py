"""What pyroute2 does not yet know of netem, tbf and fq, registered as plugins of its own tc message.

Attribute numbers and structures: linux/pkt_sched.h. The 64-bit attributes carry what the old 32-bit fields round:
delays in nanoseconds and rates above 34 Gbit/s; TCA_NETEM_PRNG_SEED (Linux 6.6) makes random loss repeatable.
"""

from __future__ import annotations

from typing import Any

from pyroute2.netlink import nla
from pyroute2.netlink.rtnl import TC_H_ROOT
from pyroute2.netlink.rtnl.tcmsg import plugins, sched_netem

_LINKLAYER_ETHERNET = 1
U32_MAX = 0xFFFFFFFF


class Netem:
    """netem: `latency` and `jitter` in ns, `limit` in packets, `loss` as a probability, `seed` 64 bits or None."""

    parent = TC_H_ROOT

    class options(sched_netem.options):  # type: ignore[misc]
        nla_map = (
            *sched_netem.options.nla_map,
            ("TCA_NETEM_ECN", "hex"),
            ("TCA_NETEM_RATE64", "uint64"),
            ("TCA_NETEM_PAD", "hex"),
            ("TCA_NETEM_LATENCY64", "int64"),
            ("TCA_NETEM_JITTER64", "int64"),
            ("TCA_NETEM_SLOT", "hex"),
            ("TCA_NETEM_SLOT_DIST", "hex"),
            ("TCA_NETEM_PRNG_SEED", "uint64"),
        )

    @staticmethod
    def get_parameters(values: dict[str, Any]) -> dict[str, Any]:
        attributes = [["TCA_NETEM_LATENCY64", values["latency"]], ["TCA_NETEM_JITTER64", values["jitter"]]]
        if values["seed"] is not None:
            attributes.append(["TCA_NETEM_PRNG_SEED", values["seed"]])
        return {
            "delay": 0,
            "limit": values["limit"],
            "loss": round(values["loss"] * U32_MAX),
            "gap": 0,
            "duplicate": 0,
            "jitter": 0,
            "attrs": attributes,
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
    def fix_request(request: Any) -> None:
        # The message has an attribute of that name, an estimator; ours is in the options.
        if "rate" in request:
            del request["rate"]


class Fq:
    """fq: `maxrate` in bytes per second for each flow."""

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
        return {
            "attrs": [["TCA_FQ_FLOW_MAX_RATE", min(values["maxrate"], U32_MAX)]]
            if "maxrate" in values
            else []
        }


def register() -> None:
    """Teach pyroute2 these qdiscs; safe to call twice."""
    plugins.update({"netem": Netem, "tbf": Tbf, "fq": Fq})
