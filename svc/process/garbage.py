"""Postpones garbage collection during the startup of a process.

Importing the program creates about 100,000 objects, almost all of which live as long as the process. With Python's
default thresholds, collections that find nothing would take an eighth of the CPU time of a start.
"""

from __future__ import annotations

import gc

# This is more than the number of objects that a start creates. A command that creates more objects, or a waiting
# standby, still collects garbage.
_STARTUP_THRESHOLD = 250_000
_DEFAULT_THRESHOLDS = gc.get_threshold()


def postpone_collections() -> None:
    """Let this process create many objects before the first garbage collection."""
    gc.set_threshold(_STARTUP_THRESHOLD)


def exclude_startup_objects() -> None:
    """Exclude all current objects from garbage collection, and collect new garbage as usual from now on.

    Otherwise, each full collection would visit these objects and block all requests for 70 ms. The function does not
    run a collection first, because that would delay the start by 100 ms and free only about 1 MB.
    """
    gc.freeze()
    gc.set_threshold(*_DEFAULT_THRESHOLDS)
