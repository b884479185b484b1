"""Entry point of the binary: run `svc` in the process that PyInstaller's loader started."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import sys
from pathlib import Path

from svc.cli import main

_PR_SET_PDEATHSIG = 1


def begin() -> None:
    """Run `svc`. The one-file binary runs as two processes: the loader, and this process, which the loader starts."""
    unpacked = Path(getattr(sys, "_MEIPASS", sys.prefix))
    if Path(sys.executable).resolve().parent in unpacked.resolve().parents:
        main()  # if the program is a folder, there is no loader process and no unpacked file
        return
    loader = os.getppid()
    # If the loader is killed, end the service too: otherwise it would keep running and keep its store locked.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if not _is_loader(loader):
        sys.exit("svc: the parent process has ended")
    if os.geteuid() == 0 and sys.argv[1:2] == ["init"]:
        _make_readable(unpacked)  # `svc init` checks its answers as the owner of the data folder
    try:
        main()
    finally:
        if os.getppid() != loader:  # the loader has ended, so it cannot remove the unpacked files
            shutil.rmtree(unpacked, ignore_errors=True)


def _is_loader(process: int) -> bool:
    """Return True if the process runs this executable. If this is unknown, return True except for process 1."""
    try:
        return Path(f"/proc/{process}/exe").samefile("/proc/self/exe")
    except OSError:
        return process != 1


def _make_readable(folder: Path) -> None:
    """Make the unpacked program, which contains no secrets, readable by other users."""
    for each in (*folder.rglob("*"), folder):
        each.chmod(0o755)


if __name__ == "__main__":
    begin()
