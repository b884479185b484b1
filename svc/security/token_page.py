"""Links to Cloudflare's form for creating an account API token, with prefilled permissions.

Source: Cloudflare's documentation of API token template URLs (account token URL format). The links cannot prefill the
account, the zones or the expiry date. The Cloudflare dashboard asks for the account. The keys of the permissions are
from Cloudflare's permission reference.
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
# The same form with the permissions of the working token added, for accounts in which a token can only grant
# permissions that it has itself.
FULL_TOKEN_PAGE = _page(tuple(dict.fromkeys(_BOOTSTRAP_PERMISSIONS + _WORKING_PERMISSIONS)))
