"""A Dask scheduler with worker processes of one thread: prints its address, and ends with its input.

python -m tests.sweep.local_cluster WORKERS
"""

from __future__ import annotations

import asyncio
import multiprocessing
import sys
from multiprocessing.connection import Connection

from distributed import Scheduler, Worker


async def _schedule(workers: list[Connection]) -> None:
    async with Scheduler(host="127.0.0.1", port=0, dashboard_address=None) as scheduler:
        for connection in workers:
            connection.send(scheduler.address)
        for connection in workers:
            await asyncio.to_thread(connection.recv)
        print(scheduler.address, flush=True)
        await asyncio.to_thread(sys.stdin.read)
        await scheduler.close()


def _work(connection: Connection) -> None:
    asyncio.run(_serve(connection.recv(), connection))


async def _serve(scheduler: str, connection: Connection) -> None:
    async with Worker(scheduler, nthreads=1, dashboard=False) as worker:
        connection.send(worker.address)
        await worker.finished()


if __name__ == "__main__":
    # Forked, so that Dask is imported once.
    context = multiprocessing.get_context("fork")
    ends = [context.Pipe() for _ in range(int(sys.argv[1]))]
    processes = [context.Process(target=_work, args=(there,), daemon=True) for _, there in ends]
    for process in processes:
        process.start()
    asyncio.run(_schedule([here for here, _ in ends]))
    for process in processes:
        process.join(20)
