"""What the worker's table `meta` says: its schema, how far its configuration is written, what its crons have
done. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, Field

from svc.clock import DAY_MS, LAST_DAY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STATEMENT = "select key, value from meta where key in ('schema', 'config_version', 'state')"
# What the customer can do: the platform keeps every database of the last days
# (https://developers.cloudflare.com/d1/reference/time-travel/).
UNREADABLE = (
    "The worker's table meta has in it what neither the worker nor the service writes. Bring the database svc-edge back"
    " to the minute before with the edge platform's Time Travel, which knows the last seven days; or delete it in the"
    " dashboard and install the worker again: what was counted and not yet reported is lost then."
)


# The customer can write into this table, and what it says is stored here and added up. Nobody changes a configuration
# so often; a million rows with this version have a sum that fits into 64 bits.
_MOST_CHANGES = 10**12
_Moment = Annotated[int, Field(ge=0, le=(LAST_DAY + 1) * DAY_MS)]


class _Push(BaseModel):
    tried: Annotated[str, Field(max_length=100, pattern=r"^[ -~]*$")] = ""
    next_at: _Moment = 0


class _State(BaseModel):
    """The part that we use of what the crons know (edge_worker/src/state.js)."""

    day: Annotated[int, Field(ge=-1, le=LAST_DAY)] = -1
    kept_from: Annotated[int, Field(ge=0, le=LAST_DAY)] = 0
    as_of: _Moment = 0
    push: _Push = _Push()


@dataclass(frozen=True)
class WorkerMeta:
    """Times are epoch ms.

    `schema`: its number; 0: it has none. `config_version`: of the account's configuration, what is written whole.
    `closed_day`: the last day that is closed; `as_of`: the end of the latest closed hour. `tried`: the operation whose
    upload pushed last, with whatever outcome; `next_push_at`: when it was to push again. Both are empty before the
    first cron. `kept_from`: the first day that was not deleted by its age; 0: none was.
    """

    schema: int
    config_version: int
    closed_day: int
    as_of: int
    tried: str
    next_push_at: int
    kept_from: int = 0

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, object]]) -> WorkerMeta:
        """The rows that STATEMENT finds. Raises ValueError on what the worker did not write."""
        values = {str(row["key"]): row["value"] for row in rows}
        state = _State.model_validate_json(str(values.get("state", "{}")))
        schema, version = (int(str(values.get(key, 0))) for key in ("schema", "config_version"))
        if schema < 0 or not 0 <= version <= _MOST_CHANGES:
            raise ValueError("not what the service wrote")
        push = state.push
        return cls(schema, version, state.day, state.as_of, push.tried, push.next_at, state.kept_from)
