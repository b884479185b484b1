"""The HTML page of a recipient of email reports, in the recipient's language."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from svc.identity.links import footer_html

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.identity.operator import Identity
    from svc.model import Language, MailingContent, RecipientState
    from svc.store.recipients import Subscription

_STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:3rem auto;padding:0 1rem;overflow-wrap:anywhere}"
    "h1{font-size:1.25rem;line-height:1.3}"
    "form{display:inline}"
    "button{font:inherit;min-height:2.75rem;margin:0 .5rem .5rem 0;padding:0 1.25rem;border:1px solid;"
    "border-radius:.25rem;cursor:pointer;background:none;color:inherit}"
    "button.main{background:#0b6e5b;border-color:#0b6e5b;color:#fff;font-weight:bold}"
    "footer{margin-top:3rem;font-size:.875rem}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
HEADERS = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none';"
    " form-action 'self'; frame-ancestors 'none'",
    "X-Robots-Tag": "noindex",
}
_PAGE = (
    '<!DOCTYPE html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    "<title>{title} · {service}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
    "<p>{service}</p>\n<h1>{title}</h1>\n{content}\n</main>\n{footer}</body>\n</html>\n"
)


class _Words(NamedTuple):
    """The texts in one language. `emails`: what the recipient gets. `states`: a text for each state of a recipient."""

    title: str
    several_sites: str
    emails: Mapping[MailingContent, str]
    states: Mapping[RecipientState, str]
    confirm: str
    decline: str
    declined: str
    unsubscribe: str
    subscribe_again: str
    removed: str
    unknown_title: str
    unknown: str


_WORDS: Mapping[Language, _Words] = {
    "en": _Words(
        title="Emails about {name}",
        several_sites="{name} (all sites)",
        emails={
            "reports": "email reports",
            "alerts": "email alerts",
            "reports_and_alerts": "email reports and alerts",
        },
        states={
            "unconfirmed": "Do you want to get {emails} about {name} at {email}?",
            "confirmed": "{email} gets {emails} about {name}.",
            "unsubscribed": "{email} gets no {emails} about {name}.",
        },
        confirm="Confirm",
        decline="Decline",
        declined="If you decline, this sender cannot ask you again.",
        unsubscribe="Unsubscribe",
        subscribe_again="Subscribe again",
        removed="The sender has removed this address from the list.",
        unknown_title="Link not valid",
        unknown="This link is not valid or has expired. Use the link in the newest email.",
    ),
    "de": _Words(
        title="E-Mails über {name}",
        several_sites="{name} (alle Websites)",
        emails={
            "reports": "E-Mail-Berichte",
            "alerts": "E-Mail-Warnungen",
            "reports_and_alerts": "E-Mail-Berichte und Warnungen",
        },
        states={
            "unconfirmed": "Möchten Sie {emails} über {name} an {email} erhalten?",
            "confirmed": "{email} erhält {emails} über {name}.",
            "unsubscribed": "{email} erhält keine {emails} über {name}.",
        },
        confirm="Zustimmen",
        decline="Ablehnen",
        declined="Wenn Sie ablehnen, kann Sie dieser Absender nicht erneut fragen.",
        unsubscribe="Abbestellen",
        subscribe_again="Wieder abonnieren",
        removed="Der Absender hat diese Adresse aus der Liste entfernt.",
        unknown_title="Link ungültig",
        unknown="Dieser Link ist ungültig oder abgelaufen. Verwenden Sie den Link in der neuesten E-Mail.",
    ),
}


def recipient_page(found: Subscription, token: str, identity: Identity) -> str:
    """Return the page with the recipient's state, and buttons to change it."""
    recipient = found.recipient
    words = _WORDS[recipient.language]
    name = found.name if found.target_kind == "site" else words.several_sites.format(name=found.name)
    state = words.states[recipient.state].format(emails=words.emails[found.content], name=name, email=recipient.email)
    content = [f"<p>{escape(state)}</p>"]
    match recipient.state:
        case "unconfirmed":
            buttons = _button(token, "confirm", words.confirm, main=True) + _button(token, "unsubscribe", words.decline)
            content += [f"<p>{buttons}</p>", f"<p>{escape(words.declined)}</p>"]
        case "confirmed":
            content.append(f"<p>{_button(token, 'unsubscribe', words.unsubscribe, main=True)}</p>")
        case "unsubscribed" if found.listed:
            content.append(f"<p>{_button(token, 'confirm', words.subscribe_again)}</p>")
        case "unsubscribed":
            content.append(f"<p>{escape(words.removed)}</p>")
    return _page(recipient.language, words.title.format(name=name), "\n".join(content), identity)


def unknown_page(language: Language, identity: Identity) -> str:
    """Return the page for a token that is unknown or has expired."""
    words = _WORDS[language]
    return _page(language, words.unknown_title, f"<p>{escape(words.unknown)}</p>", identity)


def _button(token: str, action: str, label: str, *, main: bool = False) -> str:
    kind = ' class="main"' if main else ""
    return f'<form method="post" action="/m/{token}/{action}"><button{kind}>{escape(label)}</button></form>'


def _page(language: Language, title: str, content: str, identity: Identity) -> str:
    return _PAGE.format(
        language=language,
        title=escape(title),
        service=escape(identity.name),
        style=_STYLE,
        content=content,
        footer=footer_html(identity, language),
    )
