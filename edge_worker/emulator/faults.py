"""Injected faults: the next matching calls are rejected, delayed or dropped, or get an invalid response."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any, Literal

import trio
from pydantic import BaseModel, ConfigDict, Field

API_KINDS = frozenset({"refuse", "slow", "hold", "drop_before", "drop_after", "fail_after", "html", "throttle"})
EGRESS_KINDS = frozenset({"egress_drop_before", "egress_drop_after", "egress_status"})
D1_KINDS = frozenset({"d1_drop_before", "d1_drop_after", "d1_end_before", "d1_end_after", "d1_slow", "d1_silent"})


class Fault(BaseModel):
    """One fault. `path` is a glob.

    For API calls, `path` is compared with the path after /client/v4, or with the whole path. For a Worker's own fetches
    (egress_…), it is compared with the URL; for D1 bindings (d1_…), with the database's id.

    Kinds of faults: slow executes the call after `delay_s`, and hold executes it when all faults are cleared.
    fail_after executes the call but responds with an error (500 unless `status` is given). d1_end_… ends the invocation
    that makes the call: it receives no result, and its remaining work is not done. d1_slow runs the statement after
    `delay_s`. d1_silent neither runs the statement nor responds, and closes the connection when no D1 fault remains.
    """

    model_config = ConfigDict(extra="forbid")

    kind: Literal[
        "refuse", "slow", "hold", "drop_before", "drop_after", "fail_after", "html", "throttle",
        "egress_drop_before", "egress_drop_after", "egress_status", "d1_drop_before", "d1_drop_after",
        "d1_end_before", "d1_end_after", "d1_slow", "d1_silent",
    ]  # fmt: skip
    path: str = "*"
    method: str = "*"
    after: int = Field(default=0, ge=0)  # number of matching calls to let through first
    times: int | None = Field(default=1, ge=1)  # null: no limit
    status: int | None = Field(default=None, ge=100, le=599)
    code: int | None = None
    message: str | None = None
    body: str | None = None
    delay_s: float = Field(default=1, ge=0)

    def fits(self, method: str, targets: tuple[str, ...]) -> bool:
        """Return True if this fault applies to the call."""
        return self.method.upper() in ("*", method) and any(fnmatchcase(t, self.path) for t in targets)


class Faults:
    """The active faults, oldest first."""

    def __init__(self) -> None:
        self.waiting: list[Fault] = []
        self.cleared = trio.Event()

    def add(self, fault: Fault) -> None:
        """Add a fault for future calls."""
        self.waiting.append(fault)

    def clear(self) -> None:
        """Delete all faults and release the calls that are held."""
        self.waiting.clear()
        self.cleared.set()
        self.cleared = trio.Event()

    @property
    def for_bindings(self) -> bool:
        """Return True if a fault for D1 bindings is active. Otherwise, the edge does not have to ask for a fault before
        each statement.
        """
        return any(fault.kind in D1_KINDS for fault in self.waiting)

    def match(self, kinds: frozenset[str], method: str, *targets: str) -> Fault | None:
        """Return the first matching fault of these kinds, and count the use of the fault.

        Return None if none matches.
        """
        for fault in self.waiting:
            if fault.kind in kinds and fault.fits(method, targets):
                if fault.after > 0:
                    fault.after -= 1
                    continue
                if fault.times is not None:
                    fault.times -= 1
                    if fault.times == 0:
                        self.waiting.remove(fault)
                return fault
        return None


def shown(fault: Fault | None) -> dict[str, Any] | None:
    """Return the fault in the format that the emulated edge expects."""
    if fault is None:
        return None
    return {"kind": fault.kind, "status": fault.status or 503, "body": fault.body, "delay_s": fault.delay_s}
