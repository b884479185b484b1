"""The running service as a whole."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import httpx
import trio

from edge_worker.harness.service import environment
from edge_worker.programs import open_program

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


async def test_a_terminal_that_is_closed_ends_it_as_any_other_end_does(tmp_path: Path) -> None:
    # Whoever runs the tests may have let them ignore it.
    program = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)\n" + _SERVE.replace("SIGTERM", "SIGHUP")
    environ = environment(tmp_path, {})
    with (tmp_path / "log").open("w+") as log:
        served = await open_program(["-c", program], environ=environ, stderr=log.fileno())
        assert await served.wait() == 0, (tmp_path / "log").read_text()
        assert served.stdout is not None
        await served.stdout.aclose()
    program = _SERVE.replace(
        "    os.kill", "    os.kill(os.getpid(), signal.SIGHUP)\n    print('goes on')\n    os.kill"
    )
    command = ["nohup", sys.executable, "-c", program]
    ended = await trio.run_process(
        command, env=environ, stdin=subprocess.DEVNULL, capture_stdout=True, capture_stderr=True, check=False
    )
    assert (ended.returncode, b"goes on" in ended.stdout) == (0, True), ended.stderr


def test_it_serves_also_when_nobody_reads_its_standard_output(tmp_path: Path) -> None:
    """Whoever started it may have gone, as the left side of a pipe whose right side has ended."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "svc", "serve"]
    with subprocess.Popen(
        command, env=environment(tmp_path, {}), stdout=writing, stderr=subprocess.PIPE, text=True
    ) as served:
        os.close(writing)
        assert served.stderr is not None
        url = next(found[1] for line in served.stderr if (found := re.search(r"answers at (http://[\d.:]+)", line)))
        answer = httpx.get(f"{url}/healthz", trust_env=False)
        served.terminate()
        _, told = served.communicate(timeout=60)
    assert (answer.json(), served.returncode, "Traceback" in told) == ({"ok": True}, 0, False), told


def test_a_collection_of_garbage_looks_at_nothing_that_stays(tmp_path: Path) -> None:
    """All that a start leaves is 85,000 objects, and a look at each held up every request for 70 ms."""
    served = subprocess.run(
        [sys.executable, "-c", _SERVE], env=environment(tmp_path, {}), capture_output=True, text=True, timeout=60
    )
    assert served.returncode == 0, served.stderr
    assert int(served.stdout) < 1_000
