"""A crash of the service leaves no core dump, because a dump would contain the vault key and tokens."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys

import pytest

from edge_worker.harness.service import environment


def crash(process: subprocess.Popen[bytes]) -> int | None:
    """Raise a process's limit for core dumps to its hard limit, and crash it. Return os.CLD_KILLED or os.CLD_DUMPED."""
    _, most = resource.prlimit(process.pid, resource.RLIMIT_CORE)
    resource.prlimit(process.pid, resource.RLIMIT_CORE, (most, most))
    process.send_signal(signal.SIGSEGV)
    ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    process.wait()
    return None if ended is None else ended.si_code


@pytest.mark.skipif(sys.platform != "linux", reason="Linux only")
def test_crashed_service_leaves_no_core_dump(tmp_path):
    serve = [sys.executable, "-m", "svc", "serve"]
    with subprocess.Popen(serve, cwd=tmp_path, env=environment(tmp_path, {}), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            assert b"ready" in process.stdout.readline()
            assert resource.prlimit(process.pid, resource.RLIMIT_CORE)[0] == 0
            assert crash(process) == os.CLD_KILLED
        finally:
            process.kill()
    assert not list(tmp_path.glob("**/core*"))


@pytest.mark.skipif(sys.platform != "linux", reason="Linux only")
def test_core_dump_of_other_process_is_detected(tmp_path):
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        return  # skip the check, because the hard limit of this process does not allow core dumps
    with subprocess.Popen(["sleep", "60"], cwd=tmp_path) as process:
        assert crash(process) == os.CLD_DUMPED
