"""Where the lab runs: on the host's kernel, in a QEMU guest, or as a replay of recorded runs."""
