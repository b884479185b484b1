"""Where the binary begins: `svc`, in a process that PyInstaller's loader has started."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import sys
from pathlib import Path

from svc.cli import main

_PR_SET_PDEATHSIG = 1
# The loader sets it so that the program finds the libraries beside it.
_LIBRARIES = "LD_LIBRARY_PATH"


def begin() -> None:
    """Run `svc`. The one-file binary is two processes: the loader, and the one that it starts, which is this."""
    _leave_our_libraries_to_us()
    unpacked = Path(getattr(sys, "_MEIPASS", sys.prefix))
    if Path(sys.executable).resolve().parent in unpacked.resolve().parents:
        main()  # a folder: one process, and nothing to clean up
        return
    loader = os.getppid()
    # Who kills the loader means the service: without this it would serve on, and hold its store.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if not _is_loader(loader):
        sys.exit("svc: what started it has ended")
    if os.geteuid() == 0 and sys.argv[1:2] == ["init"]:
        _let_all_read(unpacked)  # it tries its answers as the user whose the data is
    try:
        main()
    finally:
        if os.getppid() != loader:  # nobody else removes what was unpacked
            shutil.rmtree(unpacked, ignore_errors=True)


def _is_loader(process: int) -> bool:
    """Whether a process runs this very file; True where the system does not tell."""
    try:
        return Path(f"/proc/{process}/exe").samefile("/proc/self/exe")
    except OSError:
        return process != 1


def _let_all_read(folder: Path) -> None:
    """Let the program that was unpacked be read by other users, too; it holds nothing of ours."""
    for each in (*folder.rglob("*"), folder):
        each.chmod(0o755)


def _leave_our_libraries_to_us() -> None:
    """Give programs that the service starts (pg_dump) the environment that it was started with."""
    before = os.environ.pop(f"{_LIBRARIES}_ORIG", None)
    if before is None:
        os.environ.pop(_LIBRARIES, None)
    else:
        os.environ[_LIBRARIES] = before


if __name__ == "__main__":
    begin()
