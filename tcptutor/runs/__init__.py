"""Run files on this machine: each run is kept from its first event on, and found again."""
