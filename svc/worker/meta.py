"""The Worker's `meta` table: schema version, configuration version, and the state of cron runs. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, Field

from svc.clock import DAY_MS, LAST_DAY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STATEMENT = "select key, value from meta where key in ('schema', 'config_version', 'state')"
# For Time Travel, see https://developers.cloudflare.com/d1/reference/time-travel/
UNREADABLE = (
    "The Worker's table meta contains invalid data that neither the Worker nor the service wrote. Restore the database"
    " svc-edge to the minute before the change with Cloudflare's Time Travel, which covers the last seven days. Or"
    " delete the database in the Cloudflare dashboard and install the Worker again; counts that have not been reported"
    " are then lost."
)


# The largest accepted configuration version. A limit is needed because customers can change this table, and the service
# stores and sums the versions. The limit is far above real versions, and the sum of a million such versions fits into
# 64 bits.
_MAX_CHANGES = 10**12
_Moment = Annotated[int, Field(ge=0, le=(LAST_DAY + 1) * DAY_MS)]


class _Push(BaseModel):
    tried: Annotated[str, Field(max_length=100, pattern=r"^[ -~]*$")] = ""
    next_at: _Moment = 0


class _State(BaseModel):
    """The fields of the cron state that the service uses (edge_worker/src/state.js)."""

    day: Annotated[int, Field(ge=-1, le=LAST_DAY)] = -1
    kept_from: Annotated[int, Field(ge=0, le=LAST_DAY)] = 0
    as_of: _Moment = 0
    since: _Moment = 0
    push: _Push = _Push()


@dataclass(frozen=True)
class WorkerMeta:
    """The content of the Worker's table `meta`. Times are epoch ms.

    `schema`: the schema version, or 0 without tables. `config_version`: all configuration rows up to this version have
    been written. `closed_day`: the last closed day. `as_of`: the end of the last closed hour. `tried`: the id of the
    operation that uploaded the Worker that last tried to push, or "" before the first attempt. `next_push_at`: the time
    of the next attempt, or 0 before the first cron run. `kept_from`: the first day after the days that were deleted
    because of their age, or 0 if no day was deleted. `since`: the time at which the database began to count, or 0
    before the first cron run.
    """

    schema: int
    config_version: int
    closed_day: int
    as_of: int
    tried: str
    next_push_at: int
    kept_from: int = 0
    since: int = 0

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, object]]) -> WorkerMeta:
        """Parse the result rows of STATEMENT. Raises ValueError if a value is malformed."""
        values = {str(row["key"]): row["value"] for row in rows}
        state = _State.model_validate_json(str(values.get("state", "{}")))
        schema, version = (int(str(values.get(key, 0))) for key in ("schema", "config_version"))
        if schema < 0 or not 0 <= version <= _MAX_CHANGES:
            raise ValueError("schema or configuration version out of range")
        push = state.push
        return cls(schema, version, state.day, state.as_of, push.tried, push.next_at, state.kept_from, state.since)
