"""Legal experiments at the ends of their bounds, run on the real guest: each is refused, or what it says is true.

`python -m tests.extremes N [--seed S]` runs N of them, two at a time.
"""
