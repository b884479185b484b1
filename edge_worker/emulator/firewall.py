"""The firewall in front of the platform's own API: it rejects bodies that resemble an attack, from any client.

The platform's rules are not public. The patterns match common attacks. Sources: workers-sdk #13312, #14922, #14923
(uploads and API calls that the firewall rejected because of their content), #13574 (the page's format).
"""

from __future__ import annotations

import json
import re
import secrets
from contextlib import suppress
from urllib.parse import unquote_plus

_ATTACK = re.compile(
    "|".join(
        (
            r"\bunion\s+(all\s+)?select\b",
            r"\b(or|and)\s+['\"]?(?P<same>\w+)['\"]?\s*=\s*['\"]?(?P=same)\b",
            r"(\.\.[/\\]){2,}|/etc/passwd",
            r"<script\b",
        )
    ),
    re.IGNORECASE,
)


def resembles_attack(body: bytes, also: str) -> bool:
    """Return True if the body resembles an attack, raw or decoded. `also`: an additional pattern, "" for none."""
    text = body.decode(errors="replace")
    with suppress(ValueError):  # also check the text with its JSON escapes decoded
        text += json.dumps(json.loads(text), ensure_ascii=False).replace('\\"', '"').replace("\\n", "\n")
    text += unquote_plus(text)
    return bool(_ATTACK.search(text)) or bool(also and re.search(also, text))


def block_page() -> tuple[str, bytes]:
    """Return the error page as (Ray ID, HTML)."""
    ray = secrets.token_hex(8)
    page = (
        "<!DOCTYPE html><html><head><title>Attention Required! | Cloudflare</title></head><body>"
        '<h1 data-translate="block_headline">Sorry, you have been blocked</h1>'
        '<h2 class="cf-subheadline">You are unable to access api.cloudflare.com</h2>'
        f'<p>Cloudflare Ray ID: <strong class="font-semibold">{ray}</strong></p></body></html>'
    )
    return ray, page.encode()
