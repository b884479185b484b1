"""The names and channels of well-known sources.

The web application uses the names in this table (`svc/web/wire.py`).

A source is one of the following: the referring host in lower case and without `www.`, the id of an app, or the name of
a campaign (`utm_source` or `ref`). The source of direct visits is "".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

Channel = Literal["search", "social", "ai", "email", "campaign", "referral", "direct", "qr", "internal", "(other)"]


class Known(NamedTuple):
    """A well-known site or app."""

    name: str
    channel: Channel


_BY_CHANNEL: Mapping[Channel, Mapping[str, str]] = {
    "search": {
        "baidu.com": "Baidu",
        "bing.com": "Bing",
        "duckduckgo.com": "DuckDuckGo",
        "ecosia.org": "Ecosia",
        "kagi.com": "Kagi",
        "mojeek.com": "Mojeek",
        "naver.com": "Naver",
        "qwant.com": "Qwant",
        "search.brave.com": "Brave Search",
        "seznam.cz": "Seznam",
        "startpage.com": "Startpage",
        "yahoo.com": "Yahoo",
        "yandex.com": "Yandex",
        "yandex.ru": "Yandex",
    },
    "social": {
        "bsky.app": "Bluesky",
        "discord.com": "Discord",
        "facebook.com": "Facebook",
        "instagram.com": "Instagram",
        "linkedin.com": "LinkedIn",
        "lnkd.in": "LinkedIn",
        "mastodon.social": "Mastodon",
        "news.ycombinator.com": "Hacker News",
        "pinterest.com": "Pinterest",
        "reddit.com": "Reddit",
        "t.co": "X",
        "t.me": "Telegram",
        "threads.com": "Threads",
        "threads.net": "Threads",
        "tiktok.com": "TikTok",
        "twitter.com": "X",
        "vk.com": "VK",
        "whatsapp.com": "WhatsApp",
        "x.com": "X",
        "xing.com": "XING",
        "youtube.com": "YouTube",
    },
    "ai": {
        "chatgpt.com": "ChatGPT",
        "chat.deepseek.com": "DeepSeek",
        "chat.mistral.ai": "Mistral",
        "chat.openai.com": "ChatGPT",
        "claude.ai": "Claude",
        "copilot.microsoft.com": "Copilot",
        "gemini.google.com": "Gemini",
        "grok.com": "Grok",
        "meta.ai": "Meta AI",
        "perplexity.ai": "Perplexity",
        "poe.com": "Poe",
        "you.com": "You.com",
    },
    "email": {
        "mail.google.com": "Gmail",
        "mail.proton.me": "Proton Mail",
        "mail.yahoo.com": "Yahoo Mail",
        "outlook.live.com": "Outlook",
        "outlook.office.com": "Outlook",
        "outlook.office365.com": "Outlook",
    },
    "referral": {
        "github.com": "GitHub",
        "medium.com": "Medium",
        "substack.com": "Substack",
        "wikipedia.org": "Wikipedia",
    },
}
_APPS_BY_CHANNEL: Mapping[Channel, Mapping[str, str]] = {
    "search": {"com.google.android.googlequicksearchbox": "Google app"},
    "social": {
        "com.facebook.katana": "Facebook app",
        "com.instagram.android": "Instagram app",
        "com.linkedin.android": "LinkedIn app",
        "com.reddit.frontpage": "Reddit app",
        "com.slack": "Slack",
        "com.twitter.android": "X app",
        "com.whatsapp": "WhatsApp",
        "org.telegram.messenger": "Telegram",
    },
    "email": {"com.google.android.gm": "Gmail", "com.microsoft.office.outlook": "Outlook app"},
}


def _table(by_channel: Mapping[Channel, Mapping[str, str]]) -> dict[str, Known]:
    return {key: Known(name, channel) for channel, names in by_channel.items() for key, name in names.items()}


# Maps hosts to sites. An entry also applies to subdomains of the host that have no separate entry.
SITES = _table(_BY_CHANNEL)
# Maps app ids to apps.
APPS = _table(_APPS_BY_CHANNEL)
# Google has a domain in each country. The web application uses the same pattern, so it must be valid in JavaScript.
GOOGLE_PATTERN = r"^google\.(com?\.)?[a-z]{2,3}$"
_GOOGLE = re.compile(GOOGLE_PATTERN)
_HOST = re.compile(r"([a-z0-9_-]+\.)+[a-z][a-z0-9-]+")
_FIXED: Mapping[str, Channel] = {"": "direct", "(internal)": "internal", "(other)": "(other)"}


def known_source(source: str) -> Known | None:
    """Return the well-known site or app of a source, or None."""
    if source in APPS:
        return APPS[source]
    labels = source.split(".")
    for number in range(len(labels) - 1):
        host = ".".join(labels[number:])
        if host in SITES:
            return SITES[host]
        if _GOOGLE.match(host):
            return Known("Google", "search")
    return None


def channel_of(source: str, *, of_link: bool) -> Channel:
    """Return the channel of a source.

    `of_link`: True for the source of a click on a link. For such a click, the source `qr` means a scan of a QR code.
    """
    if of_link and source == "qr":
        return "qr"
    fixed = _FIXED.get(source)
    if fixed is not None:
        return fixed
    known = known_source(source)
    if known is not None:
        return known.channel
    return "referral" if _HOST.fullmatch(source) or source.startswith("[") else "campaign"


def channels(sources: Mapping[str, int], *, of_link: bool) -> dict[str, int]:
    """Return the counts by channel. `sources`: the counts by source."""
    tally: dict[str, int] = {}
    for source, n in sources.items():
        channel = channel_of(source, of_link=of_link)
        tally[channel] = tally.get(channel, 0) + n
    return tally
