"""netem: delay, jitter, loss, duplicates, reordering."""

from __future__ import annotations

import math
import struct
from functools import cache
from statistics import NormalDist
from typing import Any

from tcptutor.agent.qdiscs.attributes import U32_MAX, nla, sched_netem, u32

_DISTRIBUTION_SIZE, _DISTRIBUTION_SCALE = 4096, 8192
"""Entries of a delay distribution, and the value of a standard deviation (NETEM_DIST_SCALE)."""


@cache
def distribution(shape: str) -> bytes:
    """Return netem's table of random delays: scaled quantiles with mean 0 and standard deviation 1, 16 bits each.

    pareto has the exponent 3; paretonormal is 3/4 pareto and 1/4 normal, as in iproute2.
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

    A `burst` above 1 selects a Gilbert model, in which all packets are lost in the bad state, which lasts `burst`
    packets on average. `shape` is the distribution of the delay.
    """

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
            ["TCA_NETEM_REORDER", {"prob_reorder": u32(values["reorder"]), "corr_reorder": 0}],
            [
                "TCA_NETEM_CORR",
                {"delay_corr": 0, "loss_corr": u32(values["loss_correlation"]), "dup_corr": 0},
            ],
        ]
        if values["seed"] is not None:
            attributes.append(["TCA_NETEM_PRNG_SEED", values["seed"]])
        if values["ecn"]:
            attributes.append(["TCA_NETEM_ECN", 1])
        if values["shape"] != "uniform" and values["jitter"]:
            attributes.append(["TCA_NETEM_DELAY_DIST", distribution(values["shape"])])
        if burst > 1:
            # Entering the bad state loses no packet; each later one is lost, and ends it with probability 1 / burst.
            model = {"p": u32(loss / (1 - loss) / burst), "r": u32(1 / burst), "h": 0, "k1": 0}
            attributes.append(["TCA_NETEM_LOSS", {"attrs": [["NETEM_LOSS_GE", model]]}])
        return {
            "delay": 0,
            "limit": values["limit"],
            "loss": 0 if burst > 1 else u32(loss),
            "gap": 1 if values["reorder"] else 0,
            "duplicate": u32(values["duplicate"]),
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
        corrupt = options.get_attr("TCA_NETEM_CORRUPT") or {"prob_corrupt": 0}
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
            # No model uses these; only their presence matters.
            "corrupt": corrupt["prob_corrupt"] / U32_MAX or None,
            "slots": options.get_attr("TCA_NETEM_SLOT") is not None or None,
            "states": (nested is not None and nested.get_attr("NETEM_LOSS_GI") is not None) or None,
        }
