"""Links to the Cloudflare page that creates an account API token, with the permissions filled in.

Source: Cloudflare's documentation of API token template URLs (account token URL format). The links cannot fill in the
account, the zones or the expiry date; the dashboard asks for the account. The keys of the permissions are from
Cloudflare's permission reference.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

_BOOTSTRAP_PERMISSIONS = (("account_settings", "read"), ("account_api_tokens", "edit"))
_WORKING_PERMISSIONS = (
    ("workers_scripts", "edit"),
    ("d1", "edit"),
    ("account_analytics", "read"),
    ("account_settings", "read"),
    ("workers_routes", "edit"),
    ("zone", "read"),
    ("dns", "read"),
)


def _page(permissions: Sequence[tuple[str, str]]) -> str:
    keys = json.dumps([{"key": key, "type": kind} for key, kind in permissions], separators=(",", ":"))
    return (
        "https://dash.cloudflare.com/?to=/:account/api-tokens"
        f"&permissionGroupKeys={quote(keys, safe='')}&name={quote('svc bootstrap')}"
    )


# The page that lists an account's tokens.
TOKENS_PAGE = "https://dash.cloudflare.com/?to=/:account/api-tokens"
# The page that creates a token with the two permissions of a bootstrap token.
TOKEN_PAGE = _page(_BOOTSTRAP_PERMISSIONS)
# The same page with the permissions of the working token added, for accounts where a token can grant only permissions
# that it has.
FULL_TOKEN_PAGE = _page(tuple(dict.fromkeys(_BOOTSTRAP_PERMISSIONS + _WORKING_PERMISSIONS)))
