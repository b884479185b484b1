"""Tests of the startup and shutdown of the service."""

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


async def test_sighup_shuts_down_unless_ignored(tmp_path: Path) -> None:
    # Restore the default handling of SIGHUP, because the test process may have been started with a setting that ignores
    # it.
    program = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)\n" + _SERVE.replace("SIGTERM", "SIGHUP")
    environ = environment(tmp_path, {})
    with (tmp_path / "log").open("w+") as log:
        served = await open_program(["-c", program], environ=environ, stderr=log.fileno())
        assert await served.wait() == 0, (tmp_path / "log").read_text()
        assert served.stdout is not None
        await served.stdout.aclose()
    program = _SERVE.replace(
        "    os.kill", "    os.kill(os.getpid(), signal.SIGHUP)\n    print('running')\n    os.kill"
    )
    command = ["nohup", sys.executable, "-c", program]
    ended = await trio.run_process(
        command, env=environ, stdin=subprocess.DEVNULL, capture_stdout=True, capture_stderr=True, check=False
    )
    assert (ended.returncode, b"running" in ended.stdout) == (0, True), ended.stderr


def test_service_runs_with_closed_standard_output(tmp_path: Path) -> None:
    """The process that reads the output may have exited, for example in a pipeline."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "svc", "serve"]
    with subprocess.Popen(
        command, env=environment(tmp_path, {}), stdout=writing, stderr=subprocess.PIPE, text=True
    ) as served:
        os.close(writing)
        assert served.stderr is not None
        url = next(found[1] for line in served.stderr if (found := re.search(r"is running at (http://[\d.:]+)", line)))
        response = httpx.get(f"{url}/healthz", trust_env=False)
        served.terminate()
        _, log = served.communicate(timeout=60)
    assert (response.json(), served.returncode, "Traceback" in log) == (
        {"ok": True, "client": "127.0.0.1"},
        0,
        False,
    ), log


def test_startup_objects_are_excluded_from_garbage_collection(tmp_path: Path) -> None:
    """Startup creates 85,000 objects. A garbage collection that visits all of them would block all requests for
    70 ms.
    """
    served = subprocess.run(
        [sys.executable, "-c", _SERVE], env=environment(tmp_path, {}), capture_output=True, text=True, timeout=60
    )
    assert served.returncode == 0, served.stderr
    assert int(served.stdout) < 1_000
