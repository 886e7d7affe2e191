"""`python -m tests.fuzz [N] [READER...] [--from SEED]`"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter

from tests.fuzz.reader import failures
from tests.fuzz.readers import readers

EACH = 3
"""Failures of a kind that are told."""


def main() -> int:
    known = readers()
    arguments = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    arguments.add_argument("count", nargs="?", type=int, default=1000, help="mutated files for each reader")
    arguments.add_argument("names", nargs="*", choices=[[], *known], metavar="READER", help=", ".join(known))
    arguments.add_argument("--from", dest="first", type=int, default=0, help="number of the first file")
    asked = arguments.parse_args()
    warnings.simplefilter("error", ResourceWarning)
    failed = 0
    for name in asked.names or known:
        began = time.monotonic()
        kinds = Counter[str]()
        for said in failures(known[name], range(asked.first, asked.first + asked.count)):
            kind = said.partition(": ")[2][:40]
            kinds[kind] += 1
            if kinds[kind] <= EACH:
                print(said, flush=True)
        failed += kinds.total()
        took = time.monotonic() - began
        print(f"{name}: {asked.count} files, {kinds.total()} failures, {took:.0f} s", flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
