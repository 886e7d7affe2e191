"""A sweep's panel: curve, and table of runs."""
