"""Links to Cloudflare's form for a new account API token, with prefilled permissions.

A link cannot prefill the account, the zones or the expiry date. Cloudflare's dashboard asks for the account. Sources:
Cloudflare's documentation of API token template URLs (account token URL format), and its permission reference for the
keys of the permissions.
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
# The form for creating a bootstrap token, with its two permissions.
TOKEN_PAGE = _page(_BOOTSTRAP_PERMISSIONS)
# The form for creating a bootstrap token that also has the permissions of the working token. Some accounts need this
# form, because their tokens can grant only permissions that they have themselves.
FULL_TOKEN_PAGE = _page(tuple(dict.fromkeys(_BOOTSTRAP_PERMISSIONS + _WORKING_PERMISSIONS)))
