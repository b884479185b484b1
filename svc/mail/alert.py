"""Creates emails about an unusual number of views from their stored content, in the recipient's language.

`actors/service/alerts.py` writes the content.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from svc.clock import HOUR_MS
from svc.mail.messages import WORDS, Email, shown_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.mail.messages import Service
    from svc.mail.report import Addressee

_MAX_NAME = 100


def alert_email(facts: Mapping[str, Any], to: Addressee, service: Service) -> Email:
    """Create the email with an alert. `facts`: the stored content."""
    words = WORDS[to.language]
    texts, host = words.alert, shown_text(facts["host"], _MAX_NAME)
    begin = facts["first"]
    count = texts.counts[facts["kind"]].format(
        host=host,
        views=words.number(facts["views"]),
        begin=words.moment(begin),
        end=words.moment(begin + facts["hours"] * HOUR_MS),
    )
    usual = texts.usual.format(usual=words.number(facts["usual"])) if facts["usual"] else texts.rare
    snippet = texts.snippet.get(facts.get("snippet"))
    parts = [
        f"{count} {usual}",
        *([] if snippet is None else [snippet.format(host=host)]),
        texts.once,
        *([] if to.report_url is None else [texts.open, to.report_url]),
        texts.why.format(address=to.address, host=host, service_url=service.url),
        to.unsubscribe_url,
    ]
    return Email(
        to.address,
        texts.subjects[facts["kind"]].format(host=host),
        "\n\n".join(parts),
        id=to.mail_id,
        language=to.language,
        unsubscribe_url=f"{to.unsubscribe_url}/unsubscribe",
    )
