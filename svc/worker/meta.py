"""What the worker's table `meta` says: its schema, how far its configuration is written, what its crons have
done. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STATEMENT = "select key, value from meta where key in ('schema', 'config_version', 'state')"


class _Push(BaseModel):
    tried: str = ""
    next_at: int = 0


class _State(BaseModel):
    """The part that we use of what the crons know (edge_worker/src/state.js)."""

    day: int = -1
    as_of: int = 0
    push: _Push = _Push()


@dataclass(frozen=True)
class WorkerMeta:
    """Times are epoch ms.

    `schema`: its number; 0: it has none. `config_version`: of the account's configuration, what is written whole.
    `closed_day`: the last day that is closed; `as_of`: the end of the latest closed hour. `tried`: the operation whose
    upload pushed last, with whatever outcome; `next_push_at`: when it was to push again. Both are empty before the
    first cron.
    """

    schema: int
    config_version: int
    closed_day: int
    as_of: int
    tried: str
    next_push_at: int

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, object]]) -> WorkerMeta:
        """The rows that STATEMENT finds. Raises ValueError on what the worker did not write."""
        values = {str(row["key"]): row["value"] for row in rows}
        state = _State.model_validate_json(str(values.get("state", "{}")))
        schema, version = (int(str(values.get(key, 0))) for key in ("schema", "config_version"))
        return cls(schema, version, state.day, state.as_of, state.push.tried, state.push.next_at)
