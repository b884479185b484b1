"""Evaluates a click as the Worker does: finds the destination, and the categories in which the click is counted.

No I/O.

This module and `link_rules` make the same decisions as edge_worker/src (links.js, link_rules.js, agents.js, bots.js,
sources.js). They use the same patterns and limits, which the Worker's build exports to patterns.json. A test compares
their results with those of the Worker for generated clicks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal

from svc.worker.link_query import encode_query, with_query
from svc.worker.link_rules import RuleMatcher, Visitor
from svc.worker.patterns import compiled, units_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc.model import Link, OutsideReason

# Cloudflare's code for an unknown country.
UNKNOWN_COUNTRY = "XX"

_PRINTABLE = re.compile(r"[ -~]*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_LONE_SURROGATES = re.compile("[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]")
_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
# Characters that String.prototype.trim removes.
_SPACE = "\t\n\x0b\x0c\r \xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000\ufeff"


@dataclass(frozen=True)
class Click:
    """A request for a short link. `search` is the query string, which begins with "?". Texts are "" if absent.

    `at`: epoch ms. `bucket`: the number from 0 to 99 that the Worker assigns to the visitor for the day.
    """

    country: str
    user_agent: str
    search: str
    method: Literal["GET", "HEAD"]
    accept_language: str = ""
    at: int = 0
    bucket: int = 0

    @classmethod
    def from_request(
        cls,
        country: str | None,
        user_agent: str | None,
        query: str | None,
        method: Literal["GET", "HEAD"],
        accept_language: str | None = None,
        at: int = 0,
        bucket: int = 0,
    ) -> Click:
        """Return the click in the form in which it would reach the Worker.

        Spaces around the headers are removed. The query is percent-encoded and has no fragment. `query` can have a
        leading "?".
        """
        sent = (query or "").partition("#")[0].removeprefix("?")
        search = f"?{encode_query(sent)}" if sent else ""
        return cls(
            country or UNKNOWN_COUNTRY, _header(user_agent), search, method, _header(accept_language), at, bucket
        )


@dataclass(frozen=True)
class Agent:
    """The classification of a user agent. `reason`: the reason why it counts as a bot; "" for a person."""

    reason: str
    device: str
    browser: str
    os: str


@dataclass(frozen=True)
class Explanation:
    """The result of evaluating a click.

    `url` is None if visitors get the page for unknown codes. `rule` is the index of the matching link rule, or None.
    `variant` is the index of the variant that the link's split selects, or None. `outside` is the reason why the click
    is counted as outside of the link's period, or "". `reason` is the reason why the click counts as a bot, or "".
    `source` is "" if there is none.
    """

    url: str | None
    rule: int | None
    variant: int | None
    outside: OutsideReason | Literal[""]
    reason: str
    source: str
    device: str
    browser: str
    os: str


class Explainer:
    """Evaluates clicks as the Worker does, with the patterns from the Worker's bundle.

    This takes at most a few milliseconds per click, because input is truncated as in the Worker and all patterns run in
    linear time. Raises ValueError or KeyError on invalid patterns.
    """

    def __init__(self, patterns: Mapping[str, Any]) -> None:
        def one(name: str) -> re.Pattern[str]:
            return compiled(*patterns[name])

        def named(name: str) -> list[tuple[str, re.Pattern[str]]]:
            return [(label, compiled(*pattern)) for label, *pattern in patterns[name]]

        self._ua_chars: int = patterns["ua_chars"]
        self._source_chars: int = patterns["source_chars"]
        self._named_chars: int = patterns["named_chars"]
        self._referrer_chars: int = patterns["referrer_chars"]
        self._target_chars: int = patterns["target_chars"]
        self._qr: str = patterns["qr"]
        self._browsers, self._systems = named("browsers"), named("systems")
        self._desktop_ipad = one("desktop_ipad")
        self._console, self._tv, self._tablet = one("console"), one("tv"), one("tablet")
        self._mobile, self._desktop = one("mobile"), one("desktop")
        self._headless, self._preview = one("headless"), one("preview")
        self._crawler, self._more, self._harmless = one("crawler"), one("more"), one("harmless")
        self._referrer, self._at_sign = one("referrer"), one("at_sign")
        self._named, self._marker = one("named"), one("marker")
        self._rules = RuleMatcher(patterns)

    def explain(self, link: Link, click: Click, not_found_url: str | None = None) -> Explanation:
        """Return the destination of a click on an active link, and the categories in which the click is counted.

        `not_found_url`: the URL to which the link host redirects unknown codes.
        """
        agent = self.agent_of(click.user_agent)
        reason = "head" if click.method == "HEAD" else agent.reason
        outside = link.outside_at(click.at)
        rule = variant = None
        if outside is not None:
            url = link.after_url or not_found_url
        else:
            visitor = Visitor(click.country, agent.device, agent.os, click.search, click.accept_language)
            rule = self._rules.match(link.rules, visitor)
            variant = _variant_of(link, click.bucket) if rule is None else None
            url = self._target_url(link, rule, variant, click)
        return Explanation(
            url=url,
            rule=rule,
            variant=variant,
            outside="" if reason else outside or "",
            reason=reason,
            source="" if reason or outside else self.source_of(click.search),
            device=agent.device,
            browser=agent.browser,
            os=agent.os,
        )

    def _target_url(self, link: Link, rule: int | None, variant: int | None, click: Click) -> str:
        target = link.url
        if rule is not None:
            target = link.rules[rule].url
        elif variant is not None:
            target = link.split[variant].url
        return with_query(target, click.search, self._target_chars) if link.forward_query else target

    def agent_of(self, user_agent: str) -> Agent:
        """Classify a user agent."""
        ua = units_of(user_agent)[: self._ua_chars]
        return Agent(self._reason_of(ua), self._device_of(ua), _first(self._browsers, ua), _first(self._systems, ua))

    def source_of(self, search: str) -> str:
        """Return the source of a click that has no referrer: a QR scan, a campaign, or "" for a direct visit."""
        if self._marker.search(search):
            return self._qr
        named = self._named.search(search)
        source = "" if named is None or named[1] == "" else self._campaign(named[1])
        return "" if source == self._qr else source  # the name is reserved for QR scans, so a campaign cannot have it

    def _reason_of(self, ua: str) -> str:
        if ua == "":
            return "empty"
        if self._headless.search(ua):
            return "headless"
        if self._preview.search(ua):
            return "preview"
        if not self._is_listed(ua):
            return ""
        rest = self._harmless.sub(lambda match: match[1] or "", ua)
        return "list" if rest == ua or self._is_listed(rest) else ""

    def _is_listed(self, ua: str) -> bool:
        return bool(ua and self._crawler.search(ua)) or bool(self._more.search(ua))

    def _device_of(self, ua: str) -> str:
        if self._console.search(ua):
            return "console"
        if self._tv.search(ua):
            return "tv"
        if self._tablet.search(ua) or self._desktop_ipad.search(ua):
            return "tablet"
        if self._mobile.search(ua):
            return "mobile"
        if "Android" in ua:
            return "tablet"
        return "desktop" if self._desktop.search(ua) else "other"

    def _campaign(self, value: str) -> str:
        text = units_of(value)[: self._named_chars]
        text = _decoded(text)
        text = _lower(_clean(text, self._source_chars).strip(_SPACE))
        if not _PRINTABLE.fullmatch(text):
            text = _well_formed(text[: self._source_chars // 2])
        if self._at_sign.search(text):
            return ""
        return _joined(self._referrer_host(text) or text.removeprefix("www."))

    def _referrer_host(self, referrer: str) -> str:
        match = self._referrer.search(referrer[: self._referrer_chars])
        return "" if match is None else match[1].lower().removeprefix("www.")[: self._source_chars]


def _variant_of(link: Link, bucket: int) -> int | None:
    ends = accumulate(variant.share for variant in link.split)
    return next((place for place, end in enumerate(ends) if bucket < end), None)


def _header(value: str | None) -> str:
    return (value or "").strip(" \t")


def _first(listed: Sequence[tuple[str, re.Pattern[str]]], ua: str) -> str:
    return next((name for name, pattern in listed if pattern.search(ua)), "Other")


def _decoded(text: str) -> str:
    """Decode text like decodeURIComponent, and "+" as a space. Text with an invalid escape is returned unchanged."""
    rest = _ESCAPES.sub("", text)
    if "%" in rest:
        return text
    try:
        return units_of(_ESCAPES.sub(_bytes_of, text.replace("+", " ")))
    except UnicodeDecodeError:
        return text


def _bytes_of(escapes: re.Match[str]) -> str:
    return bytes.fromhex(escapes[0].replace("%", "")).decode()


def _clean(text: str, limit: int) -> str:
    if len(text) <= limit and _PRINTABLE.fullmatch(text):
        return text
    return _well_formed(_CONTROL.sub("", text[: limit * 2])[:limit])


def _well_formed(text: str) -> str:
    return _LONE_SURROGATES.sub("\ufffd", text)


def _lower(text: str) -> str:
    return units_of(_joined(text).lower())


def _joined(text: str) -> str:
    """Combine surrogate pairs into characters. The text must be well-formed UTF-16."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
