"""Transactions on the responses stored for Idempotency-Keys (rules G1 to G5)."""

from __future__ import annotations

from dataclasses import dataclass

from svc.errors import Busy, Conflict, ServiceError, Unauthorized
from svc.store.tx import Tx, from_json, sql, to_json
from svc.store.users import get_user

# Responses with more bytes than this count as large. The total size of a user's large responses is limited, because the
# response to a bulk creation of links can reach 1.5 MB. The request rate limit bounds the total size of smaller
# responses. The query and its index contain this number as a constant, because the index could not be used with a
# parameter.
LARGE_BYTES = 4_096


@dataclass(frozen=True)
class Claim:
    """The user, method, path and key that identify a request. A repeated request must also have the same `body_digest`.

    A repeated request may use another of the user's credentials if that credential has access to at least the same
    accounts. `edge_accounts`: the ids of the Cloudflare accounts that the credential is limited to; None means no
    limit.
    """

    user_id: int
    edge_accounts: tuple[str, ...] | None
    method: str
    path: str
    key: str
    body_digest: str


@dataclass(frozen=True)
class StoredResponse:
    """A stored response that can be sent again."""

    status: int
    body: bytes
    content_type: str
    headers: dict[str, str]


class AlreadyAnswered(Busy):
    """Raised if another request with the same claim was committed between `recall` and `keep_response`.

    The current request is rolled back. A retry gets the stored response of the other request.
    """


def recall(claim: Claim, now: int) -> Tx[StoredResponse | None]:
    """Return the stored response; None if there is none or it has expired.

    Raises Conflict idempotency_conflict if the key was used with another body (rule G4), or with a credential that can
    access accounts that this credential cannot access.
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
    return StoredResponse(row["status"], row["body"], row["content_type"], from_json(row["headers"]))


def keep_response(claim: Claim, response: StoredResponse, now: int, ttl_ms: int) -> Tx[None]:
    """Store a response for `ttl_ms` in the same transaction as the request's effect. Replaces an expired response.

    Raises AlreadyAnswered if another request with the same claim was committed first, and Unauthorized if the user was
    deleted first. Both errors roll back the effect.
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
        response.status,
        response.content_type,
        to_json(response.headers),
        response.body,
        now + ttl_ms,
        now,
        to_json(claim.edge_accounts),
    )
    if not rows:
        raise AlreadyAnswered(retry_after_s=1)


def check_storage_limit(user_id: int, body_bytes: int, most_bytes: int, now: int) -> Tx[None]:
    """Check that a response of `body_bytes` fits into `most_bytes`, the limit on a user's large stored responses.

    Raises ServiceError rate_limited if it does not fit. The error's `retry_after_s` is the time until the first of the
    stored responses expires.
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
            "Too many large responses are stored for your Idempotency-Keys. Retry when the first one expires.",
            retry_after_s=-(-(expires_at - now) // 1000),
        )


def _sees_all_of(claim: Claim, edge_accounts: str | None) -> bool:
    if claim.edge_accounts is None:
        return True
    return edge_accounts is not None and set(from_json(edge_accounts)) <= set(claim.edge_accounts)
