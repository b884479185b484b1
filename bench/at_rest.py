"""`python -m bench.at_rest URL` starts the supervisor on a store, and prints its startup time and memory as JSON."""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any, cast

import trio
from pydantic import SecretStr

from svc.actors.context import Context
from svc.actors.supervisor import open_supervisor
from svc.clock import system_clock
from svc.config import Config, StoreConfig
from svc.store import open_store
from svc.worker.bundle import load_bundle

_NOTHING = cast("Any", None)  # in place of objects that are not used, because no account has due work


async def main(url: str) -> None:
    """Start the supervisor, and print its startup time, its memory usage, and the number of accounts in the store."""
    config = Config(store=StoreConfig(url=SecretStr(url)))
    async with open_store(config.store) as store:
        context = Context(store, _NOTHING, _NOTHING, config, system_clock, load_bundle(), "")
        began = time.perf_counter()
        async with open_supervisor(context) as supervisor:
            found = {"took_s": time.perf_counter() - began, "memory_mb": _memory_mb()}
            found["known"] = supervisor.stats()["known"]
    print(json.dumps(found))


def _memory_mb() -> float:
    for line in Path("/proc/self/status").read_text().splitlines() if Path("/proc/self/status").exists() else ():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    trio.run(main, sys.argv[1])
