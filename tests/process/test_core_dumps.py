"""A crash of the service leaves no core dump, which would hold the vault key and tokens."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys

import pytest

from edge_worker.harness.service import environment


def end_of(process: subprocess.Popen[bytes]) -> int | None:
    """Crash a process that may dump core by its limit; how it ended, of os.CLD_KILLED and os.CLD_DUMPED."""
    _, most = resource.prlimit(process.pid, resource.RLIMIT_CORE)
    resource.prlimit(process.pid, resource.RLIMIT_CORE, (most, most))
    process.send_signal(signal.SIGSEGV)
    ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    process.wait()
    return None if ended is None else ended.si_code


@pytest.mark.skipif(sys.platform != "linux", reason="the flag is one of Linux")
def test_a_crashed_service_leaves_no_core_dump_whatever_the_limit_is(tmp_path):
    serve = [sys.executable, "-m", "svc", "serve"]
    with subprocess.Popen(serve, cwd=tmp_path, env=environment(tmp_path, {}), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            assert b"ready" in process.stdout.readline()
            assert resource.prlimit(process.pid, resource.RLIMIT_CORE)[0] == 0
            assert end_of(process) == os.CLD_KILLED
        finally:
            process.kill()
    assert not list(tmp_path.glob("**/core*"))


@pytest.mark.skipif(sys.platform != "linux", reason="the flag is one of Linux")
def test_the_core_dump_of_another_process_shows_that_the_test_can_see_one(tmp_path):
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        return  # no process of this test run can have one
    with subprocess.Popen(["sleep", "60"], cwd=tmp_path) as process:
        assert end_of(process) == os.CLD_DUMPED
