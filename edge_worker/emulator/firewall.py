"""The firewall before the platform's own API: it refuses a body that looks like an attack, whoever sends it.

Its rules are not public; these are the attacks that every such firewall knows. Sources: workers-sdk #13312, #14922,
#14923 (uploads and API calls refused with a page, always, for what was in them), #13574 (what the page looks like).
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


def looks_like_attack(body: bytes, also: str) -> bool:
    """Tell whether the body looks like an attack, as it came or decoded; `also`: one more pattern, "" for none."""
    text = body.decode(errors="replace")
    with suppress(ValueError):  # escapes of JSON hide nothing
        text += json.dumps(json.loads(text), ensure_ascii=False).replace('\\"', '"').replace("\\n", "\n")
    text += unquote_plus(text)
    return bool(_ATTACK.search(text)) or bool(also and re.search(also, text))


def block_page() -> tuple[str, bytes]:
    """Make the page of a refusal: its Ray ID, and its HTML."""
    ray = secrets.token_hex(8)
    page = (
        "<!DOCTYPE html><html><head><title>Attention Required! | Cloudflare</title></head><body>"
        '<h1 data-translate="block_headline">Sorry, you have been blocked</h1>'
        '<h2 class="cf-subheadline">You are unable to access api.cloudflare.com</h2>'
        f'<p>Cloudflare Ray ID: <strong class="font-semibold">{ray}</strong></p></body></html>'
    )
    return ray, page.encode()
