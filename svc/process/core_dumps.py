"""Disable core dumps, which would write the vault key, tokens and passwords from memory to disk."""

from __future__ import annotations

import ctypes
import resource
import sys

_PR_SET_DUMPABLE = 4


def forbid_core_dumps() -> None:
    """Prevent core dumps of this process and of processes that it forks.

    RLIMIT_CORE alone is not enough. The kernel ignores it if core dumps are piped to a program (core(5)), and not every
    program checks it; systemd-coredump does. A non-dumpable process is never dumped, and other processes of its user
    cannot read its memory. A program that it executes is dumpable again, within the limit.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    if sys.platform == "linux":
        # Fails only if the kernel does not know the value, so the result is not checked.
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
