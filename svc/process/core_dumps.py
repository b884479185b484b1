"""No core dumps: they would write the vault key, tokens and passwords in a process's memory to a disk."""

from __future__ import annotations

import ctypes
import resource
import sys

_PR_SET_DUMPABLE = 4


def forbid_core_dumps() -> None:
    """Let no crash of this process, or of one that it forks, leave a core dump.

    The limit alone is not enough: the kernel does not apply it where dumps go to a program (core(5)), and not every
    such program asks for it; systemd-coredump does. A process that is not dumpable is never dumped, and other processes
    of its user cannot read its memory. A program that it executes is dumpable again, within the limit.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    if sys.platform == "linux":
        # It fails for no other reason than a value that the kernel does not know.
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
