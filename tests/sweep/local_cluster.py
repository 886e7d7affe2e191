"""A Dask scheduler with worker processes of one thread: prints its address, and ends with its input.

python -m tests.sweep.local_cluster WORKERS
"""

from __future__ import annotations

import sys

from distributed import LocalCluster

if __name__ == "__main__":
    workers = int(sys.argv[1])
    with LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
