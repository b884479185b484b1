"""The running service as a whole."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from edge_worker.harness.service import environment

if TYPE_CHECKING:
    from pathlib import Path

_SERVE = """
import gc, os, signal
import trio
from svc.config import load
from svc.main import run

def announce(url):
    print(len(gc.get_objects()))
    os.kill(os.getpid(), signal.SIGTERM)

trio.run(run, load(None, os.environ), announce)
"""


def test_a_collection_of_garbage_looks_at_nothing_that_stays(tmp_path: Path) -> None:
    """All that a start leaves is 85,000 objects, and a look at each held up every request for 70 ms."""
    served = subprocess.run(
        [sys.executable, "-c", _SERVE], env=environment(tmp_path, {}), capture_output=True, text=True, timeout=60
    )
    assert served.returncode == 0, served.stderr
    assert int(served.stdout) < 1_000
