"""Checks of the mail server, and of the DNS records by which receiving servers recognize genuine emails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dns.asyncresolver
import dns.exception
import dns.resolver

from svc.addresses import is_example_name, is_private_name
from svc.commands.checks.finding import Finding
from svc.mail.transport import check_mail

if TYPE_CHECKING:
    from svc.config import Config, MailConfig

_DOCS = "docs/operate/mail.md"
_TIMEOUT_S = 5


async def check_transport(config: Config) -> Finding:
    """Check that emails can be sent: the folder is writable, or the server accepts the credentials and the sender."""
    try:
        await check_mail(config.mail)
    except OSError as error:
        return Finding("mail", "FAIL", f"{config.mail.transport}: {error}; check [mail]")
    return Finding("mail", "ok", f"transport {config.mail.transport} is ready")


async def check_sender_domain(mail: MailConfig, resolver: dns.asyncresolver.Resolver | None = None) -> Finding:
    """Check the SPF, DKIM and DMARC records of the sender's domain.

    Gmail and other large receivers reject emails or mark them as spam if these records are missing. `resolver`: used
    instead of the name servers that the system is configured to use.
    """
    domain = mail.sender.rpartition("@")[2]
    if mail.transport == "file":
        return Finding("sender domain", "ok", "not checked, because emails are written to files")
    if is_example_name(domain):
        return Finding("sender domain", "ok", f"not checked, because {domain} is reserved for examples")
    if is_private_name(domain):
        return Finding(
            "sender domain", "warn", f"{domain} is not in public DNS; other mail servers reject such senders"
        )
    try:
        lookups = resolver or dns.asyncresolver.Resolver()
        problems = [
            *_spf_problems(domain, await _texts(lookups, domain, "v=spf1")),
            *await _dkim_problems(lookups, domain),
            *await _dmarc_problems(lookups, domain),
        ]
    except dns.exception.DNSException as error:
        return Finding("sender domain", "warn", f"the DNS records of {domain} could not be read: {error}")
    if problems:
        return Finding("sender domain", "warn", f"{'; '.join(problems)}; emails may be treated as spam ({_DOCS})")
    return Finding("sender domain", "ok", f"{domain} has SPF, DKIM and DMARC records")


def _spf_problems(domain: str, records: list[str]) -> list[str]:
    """Return what is wrong with a domain's SPF records (RFC 7208, 3.2 and 4.5)."""
    if not records:
        return [f"{domain} has no SPF record (TXT, v=spf1 …)"]
    if len(records) > 1:
        return [f"{domain} has {len(records)} SPF records, but only one is allowed"]
    terms = records[0].lower().split()
    return [f"the SPF record of {domain} allows all servers"] if {"+all", "all"} & set(terms) else []


async def _dkim_problems(resolver: dns.asyncresolver.Resolver, domain: str) -> list[str]:
    """Return a problem if a domain has no DKIM keys at all; otherwise an empty list.

    Only the mail server knows the names of the keys, so this checks their parent, `_domainkey`. If the parent does not
    exist, no name below it exists (RFC 8020).
    """
    try:
        await resolver.resolve(f"_domainkey.{domain}", "TXT", raise_on_no_answer=False, lifetime=_TIMEOUT_S)
    except dns.resolver.NXDOMAIN:
        return [f"{domain} has no DKIM key"]
    return []


async def _dmarc_problems(resolver: dns.asyncresolver.Resolver, domain: str) -> list[str]:
    """Return a problem if neither the domain nor a parent domain has a DMARC record; otherwise an empty list."""
    labels = domain.split(".")
    for start in range(len(labels) - 1):
        if await _texts(resolver, f"_dmarc.{'.'.join(labels[start:])}", "v=DMARC1"):
            return []
    return [f"{domain} has no DMARC record (TXT, _dmarc.{domain})"]


async def _texts(resolver: dns.asyncresolver.Resolver, name: str, version: str) -> list[str]:
    """Return the name's TXT records that begin with `version`. Raises DNSException, but not for missing names."""
    try:
        answer = await resolver.resolve(name, "TXT", raise_on_no_answer=False, lifetime=_TIMEOUT_S)
    except dns.resolver.NXDOMAIN:
        return []
    texts = [b"".join(record.strings).decode("ascii", "replace") for record in answer]
    return [text for text in texts if (text.split(";")[0].split() or [""])[0].lower() == version.lower()]
