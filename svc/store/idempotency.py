"""Transactions on the answers that are kept for an Idempotency-Key (rules G1 to G5)."""

from __future__ import annotations

from dataclasses import dataclass

from svc.errors import Busy, Conflict, ServiceError, Unauthorized
from svc.store.tx import Tx, from_json, sql, to_json
from svc.store.users import get_user

# Answers above it are bounded for each user, all together: many links at once are answered with up to 1.5 MB. Of
# smaller ones there are no more than the user may send requests. The query and its index name the same number, which
# has to be a constant there.
LARGE_BYTES = 4_096


@dataclass(frozen=True)
class Claim:
    """What makes two requests the same: whose, what, which key; `body_digest` tells whether they say the same.

    With which of the user's credentials they come makes no difference, as long as the second may see what the first
    saw: `edge_accounts` are those that the credential is limited to, None: all.
    """

    user_id: int
    edge_accounts: tuple[str, ...] | None
    method: str
    path: str
    key: str
    body_digest: str


@dataclass(frozen=True)
class StoredAnswer:
    """An answer, ready to be sent again."""

    status: int
    body: bytes
    content_type: str
    headers: dict[str, str]


class AnsweredMeanwhile(Busy):
    """A request with the same claim was committed between recall and keep_answer: this one is undone, the next try
    gets the other's answer."""


def recall(claim: Claim, now: int) -> Tx[StoredAnswer | None]:
    """The answer that is kept; None when there is none, or it has expired.

    Raises Conflict idempotency_conflict: the key was used with another body (rule G4), or by a credential that may
    see accounts which this one may not.
    """
    rows = yield sql(
        "select * from idempotency where user_id = $1 and method = $2 and path = $3 and key = $4 and expires_at > $5",
        claim.user_id,
        claim.method,
        claim.path,
        claim.key,
        now,
    )
    if not rows:
        return None
    row = rows[0]
    if row["body_digest"] != claim.body_digest or not _sees_all_of(claim, row["edge_accounts"]):
        raise Conflict("idempotency_conflict")
    return StoredAnswer(row["status"], row["body"], row["content_type"], from_json(row["headers"]))


def keep_answer(claim: Claim, answer: StoredAnswer, now: int, ttl_ms: int) -> Tx[None]:
    """Keep an answer for `ttl_ms`, in the transaction of its effect; an expired one gives way.

    Raises AnsweredMeanwhile, which undoes the effect: a twin of this request was quicker; Unauthorized: so is the
    deletion of its user.
    """
    if (yield from get_user(claim.user_id)) is None:
        raise Unauthorized
    rows = yield sql(
        "insert into idempotency (user_id, method, path, key, body_digest, status, content_type, headers, body,"
        " expires_at, edge_accounts) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $12)"
        " on conflict (user_id, method, path, key) do update set body_digest = excluded.body_digest,"
        " edge_accounts = excluded.edge_accounts, status = excluded.status, content_type = excluded.content_type,"
        " headers = excluded.headers,"
        " body = excluded.body, expires_at = excluded.expires_at where idempotency.expires_at <= $11"
        " returning status",
        claim.user_id,
        claim.method,
        claim.path,
        claim.key,
        claim.body_digest,
        answer.status,
        answer.content_type,
        to_json(answer.headers),
        answer.body,
        now + ttl_ms,
        now,
        to_json(claim.edge_accounts),
    )
    if not rows:
        raise AnsweredMeanwhile(retry_after_s=1)


def check_room(user_id: int, body_bytes: int, most_bytes: int, now: int) -> Tx[None]:
    """Look whether one more answer of `body_bytes` may be kept for a user: their large ones take `most_bytes` at most.

    Raises ServiceError rate_limited, until the first of them is forgotten.
    """
    if body_bytes <= LARGE_BYTES:
        return
    rows = yield sql(
        "select sum(length(body)) as bytes, min(expires_at) as expires_at from idempotency"
        " where user_id = $1 and length(body) > 4096 and expires_at > $2",
        user_id,
        now,
    )
    kept_bytes, expires_at = rows[0]["bytes"], rows[0]["expires_at"]
    if kept_bytes is not None and kept_bytes + body_bytes > most_bytes:
        raise ServiceError(
            "rate_limited",
            "Too many large answers are kept for your Idempotency-Keys; Retry-After says when the first is forgotten.",
            retry_after_s=-(-(expires_at - now) // 1000),
        )


def _sees_all_of(claim: Claim, edge_accounts: str | None) -> bool:
    if claim.edge_accounts is None:
        return True
    return edge_accounts is not None and set(from_json(edge_accounts)) <= set(claim.edge_accounts)
