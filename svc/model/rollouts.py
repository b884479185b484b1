"""Rollouts: updates of the Workers of all accounts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RolloutState = Literal["running", "done", "halted"]
# The reason why a rollout is halted: the operator halted it, or too many updates failed.
HaltReason = Literal["operator", "failures"]
# The outcome of an account's update. `excused`: the update failed for a reason unrelated to the new Worker.
UpdateOutcome = Literal["under_way", "updated", "failed", "excused"]


@dataclass(frozen=True)
class Rollout:
    """The update of all accounts to a Worker version: first a few canary accounts, then the others over time.

    `updated`: number of accounts whose new Worker has pushed. `failed`: number of accounts whose update failed
    because of the new Worker.
    """

    id: int
    bundle: str  # sha256
    state: RolloutState
    reason: HaltReason | None  # set while the rollout is halted
    spread_from: int | None  # when the updates of the other accounts began; None until the canary phase has ended
    updated: int
    failed: int
    started_at: int
    changed_at: int
    looked_at: int  # time of the service's last poll (epoch ms)
    patient_until: int  # until this time after an outage of the service, a silent Worker does not count as failed
