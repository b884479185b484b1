"""Disables core dumps, which would write the vault key, tokens and passwords from memory to disk."""

from __future__ import annotations

import ctypes
import resource
import sys

_PR_SET_DUMPABLE = 4


def forbid_core_dumps() -> None:
    """Prevent core dumps of this process and of processes that it forks.

    RLIMIT_CORE alone is not sufficient, because the kernel ignores it if core dumps are piped to a program (core(5)).
    Some of these programs, such as systemd-coredump, check the limit, but others do not. A non-dumpable process is
    never dumped, and other processes of its user cannot read its memory. If the process executes another program, that
    program can be dumped again, but RLIMIT_CORE still applies to it.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    if sys.platform == "linux":
        # The result is not checked, because the call fails only if the kernel does not support it.
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
