"""`python -m tests.faults kill|interrupt [N] [--from NUMBER] [--jobs J]`: so many attacks at random moments.

Each is on a command by itself: `run` on both backends, `sweep`, `shell`, the app, and `setup` while it builds. What is
wrong afterwards is told with the attack's number, by which it comes again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from tests.faults.attack import attack, target_of


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    arguments.add_argument("how", choices=["kill", "interrupt"])
    arguments.add_argument("count", nargs="?", type=int, default=40)
    arguments.add_argument("--from", dest="first", type=int, default=0)
    arguments.add_argument("--jobs", type=int, default=1, help="attacks at a time")
    arguments.add_argument("--all", action="store_true", help="tell also of those after which all was well")
    asked = arguments.parse_args()
    began = time.monotonic()
    wrong = Counter[str]()
    numbers = range(asked.first, asked.first + asked.count)
    with ThreadPoolExecutor(asked.jobs) as pool:
        outcomes = pool.map(lambda number: attack(asked.how, number), numbers)
        for number, outcome in zip(numbers, outcomes, strict=True):
            wrong[target_of(number)] += bool(outcome.wrong)
            if asked.all or outcome.wrong:
                print(outcome.case, *outcome.wrong, sep="\n    ", flush=True)
    made = Counter(map(target_of, numbers))
    for name, count in made.items():
        print(f"{name}: {count - wrong[name]} of {count}")
    took = time.monotonic() - began
    print(f"{asked.count - wrong.total()} of {asked.count} as they should be, {took:.0f} s")
    return wrong.total() > 0


if __name__ == "__main__":
    sys.exit(main())
