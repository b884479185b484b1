"""The edge platform's page for a new API token of an account, filled in. Pure.

Platform docs: API token template URLs (account token URL format). The page cannot be told the account, the zones or the
token's end; the dashboard asks for the account. The keys are those of its permission reference.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

_BOOTSTRAP_RIGHTS = (("account_settings", "read"), ("account_api_tokens", "edit"))
_WORKING_RIGHTS = (
    ("workers_scripts", "edit"),
    ("d1", "edit"),
    ("account_analytics", "read"),
    ("account_settings", "read"),
    ("workers_routes", "edit"),
    ("zone", "read"),
    ("dns", "read"),
)


def _page(rights: Sequence[tuple[str, str]]) -> str:
    keys = json.dumps([{"key": key, "type": kind} for key, kind in rights], separators=(",", ":"))
    return (
        "https://dash.cloudflare.com/?to=/:account/api-tokens"
        f"&permissionGroupKeys={quote(keys, safe='')}&name={quote('svc bootstrap')}"
    )


# The list of an account's tokens.
TOKENS_PAGE = "https://dash.cloudflare.com/?to=/:account/api-tokens"
# With the two rights that a bootstrap token needs.
TOKEN_PAGE = _page(_BOOTSTRAP_RIGHTS)
# With those of the working token as well: where a token may only give rights that it holds itself.
FULL_TOKEN_PAGE = _page(tuple(dict.fromkeys(_BOOTSTRAP_RIGHTS + _WORKING_RIGHTS)))
