"""The links to the operator's legal pages and contact, and their labels."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc.identity.operator import Identity
    from svc.model import Language


class OperatorLink(NamedTuple):
    """A link with its label."""

    label: str
    url: str


# The labels by language, in the order of the URLs in `operator_links`.
_LABELS: Mapping[Language, Sequence[str]] = {
    "en": ("Imprint", "Privacy", "Terms", "Contact"),
    "de": ("Impressum", "Datenschutz", "Nutzungsbedingungen", "Kontakt"),
}


def operator_links(identity: Identity, language: Language) -> list[OperatorLink]:
    """Return the links that the operator has configured, with labels in `language`."""
    urls = (identity.imprint_url, identity.privacy_url, identity.terms_url, identity.contact_url)
    return [OperatorLink(label, url) for label, url in zip(_LABELS[language], urls, strict=True) if url]


def footer_html(identity: Identity, *languages: Language) -> str:
    """Return a page footer (HTML) with the links in each language, or "" if there are no links.

    The style sheet shows the links in the language of the page.
    """
    groups = []
    for language in languages:
        links = operator_links(identity, language)
        anchors = [f'<a href="{escape(each.url)}">{escape(each.label)}</a>' for each in links]
        groups += [f'<span lang="{language}">{" · ".join(anchors)}</span>'] if anchors else []
    return f'<footer class="legal">{"".join(groups)}</footer>' if groups else ""
