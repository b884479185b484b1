"""Creates each kind of email in the recipient's language. The texts are in `english.py` and `german.py`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from svc import finding
from svc.addresses import LONGEST_EMAIL
from svc.clock import day_of
from svc.errors import QUOTES
from svc.mail.english import ENGLISH
from svc.mail.german import GERMAN
from svc.model import DEFAULT_LANGUAGE, MAX_REASON_CHARS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc.errors import Code
    from svc.mail.words import Problem, Text, Words
    from svc.model import Language, MailingContent
    from svc.remaining_resource import RemainingResource
    from svc.store.broken_targets import BrokenLink

WORDS: Mapping[Language, Words] = {"en": ENGLISH, "de": GERMAN}

# Names of accounts are truncated to this number of characters. Users choose these names, so they can be long.
_MAX_NAME = 100
# Error messages are truncated to this number of characters. They may quote Cloudflare's API.
_MAX_MESSAGE = 1_000
_MB = 1_000_000

# For each problem that may have no stored error, the error code whose remedy the email shows.
_CODES: Mapping[Problem, Code] = {
    "revoked": "revoked",
    "permission_error": "permission_error",
    "resource_drift": "resource_drift",
    "no_connection": "worker_silent",
    "token_expires_soon": "revoked",
}


@dataclass(frozen=True)
class Email:
    """An email. Its text is sent as plain text and as HTML (see `body.py`).

    If `send` is False, the email is prepared and then discarded. Preparing it takes as long as for an email that is
    sent, so the timing does not reveal which addresses have users.
    """

    to: str
    subject: str
    text: str = field(repr=False)  # may contain a token
    send: bool = True
    id: str = ""  # becomes the Message-ID, so that mail clients recognize a repeated email
    language: Language = DEFAULT_LANGUAGE
    button: str = ""  # the label of the link in HTML; if empty, the link shows its URL
    page: str = field(default="", repr=False)  # the HTML of the body; if empty, the text is converted to HTML
    unsubscribe_url: str = field(default="", repr=False)  # for the header List-Unsubscribe (RFC 8058)


@dataclass(frozen=True)
class Service:
    """The service's public URL and its name."""

    url: str
    name: str


@dataclass(frozen=True)
class Link:
    """A link for an email, and its lifetime in hours."""

    url: str = field(repr=False)  # contains a token
    hours: float


def confirm_address(
    language: Language, to: str, link: Link, service: Service, *, mail_id: str = "", send: bool = True
) -> Email:
    """Create the email with the link that confirms an address after a sign-up."""
    return _with_link(WORDS[language], WORDS[language].confirm, to, link, service, mail_id, send=send)


def choose_password(
    language: Language, to: str, link: Link, service: Service, *, mail_id: str = "", send: bool = True
) -> Email:
    """Create the email for an address with several sign-ups. Its link lets the recipient set a new password."""
    return _with_link(WORDS[language], WORDS[language].choose_password, to, link, service, mail_id, send=send)


def reset_password(
    language: Language, to: str, link: Link, service: Service, *, mail_id: str = "", send: bool = True
) -> Email:
    """Create the email with the link that sets a new password."""
    return _with_link(WORDS[language], WORDS[language].reset, to, link, service, mail_id, send=send)


def account_exists(language: Language, to: str, service: Service, *, mail_id: str = "") -> Email:
    """Create the email that informs a user that someone has tried to sign up with the user's address."""
    subject, text, _ = WORDS[language].account_exists
    return Email(
        to, subject.format(service=service.name), text.format(service_url=service.url), id=mail_id, language=language
    )


def password_changed(language: Language, to: str, service: Service, *, mail_id: str = "") -> Email:
    """Create the notice that the password was changed. It contains no link that signs the user in."""
    subject, text, _ = WORDS[language].password_changed
    return Email(
        to, subject.format(service=service.name), text.format(service_url=service.url), id=mail_id, language=language
    )


def invitation(language: Language, to: str, url: str, expires_at: int, service: Service, *, mail_id: str = "") -> Email:
    """Create the email with an invitation link. `expires_at`: epoch ms."""
    words = WORDS[language]
    subject, text, button = words.invitation
    text = text.format(link=url, expiry=words.moment(expires_at), service_url=service.url)
    return Email(to, subject.format(service=service.name), text, id=mail_id, language=language, button=button)


def confirm_new_address(language: Language, to: str, link: Link, service: Service, *, mail_id: str = "") -> Email:
    """Create the email with the link that confirms a user's new address."""
    words = WORDS[language]
    return _with_link(words, words.confirm_new_address, to, link, service, mail_id, send=True)


def address_in_use(language: Language, to: str, service: Service, *, mail_id: str = "") -> Email:
    """Create the email that informs a user that another user has tried to switch to the user's address."""
    subject, text, _ = WORDS[language].address_in_use
    return Email(
        to, subject.format(service=service.name), text.format(service_url=service.url), id=mail_id, language=language
    )


def email_change_requested(
    language: Language, to: str, new_email: str, url: str, revert_until: int, service: Service, *, mail_id: str = ""
) -> Email:
    """Create the notice to the old address, with the link that reverts the change until `revert_until` (epoch ms)."""
    words = WORDS[language]
    subject, text, button = words.email_change_requested
    text = text.format(
        new_email=shown_text(new_email, LONGEST_EMAIL),
        link=url,
        expiry=words.moment(revert_until),
        service_url=service.url,
    )
    return Email(to, subject.format(service=service.name), text, id=mail_id, language=language, button=button)


def user_deleted(
    language: Language,
    to: str,
    left: Sequence[RemainingResource | str],
    tokens: Sequence[str],
    service: Service,
    *,
    mail_id: str = "",
) -> Email:
    """Create the last email to a deleted user, which lists the resources that remain in Cloudflare.

    `left`: the remaining resources, or sentences about them if an earlier version of the service queued the email.
    `tokens`: the remaining working tokens, each with its account.
    """
    words = WORDS[language]
    parts = [words.deleted.text.format(service_url=service.url)]
    if tokens:
        parts += [words.deleted_tokens, _listed(tokens)]
    if left:
        sentences = [each if isinstance(each, str) else each.sentence(words.remaining, words.fact) for each in left]
        parts += [words.deleted_left, _listed(sentences)]
    text = "\n\n".join([*parts, words.deleted_end])
    return Email(to, words.deleted.subject.format(service=service.name), text, id=mail_id, language=language)


def account_disconnected(
    language: Language,
    to: str,
    name: str,
    left: Sequence[RemainingResource],
    token: str | None,
    service: Service,
    *,
    mail_id: str = "",
) -> Email:
    """Create the email about an account that the operator has disconnected, with the remaining resources.

    `token`: the name of the working token; None if it no longer exists.
    """
    words, safe_name = WORDS[language], shown_text(name, _MAX_NAME)
    parts = [words.disconnected.text.format(name=safe_name, service_url=service.url)]
    if token is not None:
        parts += [words.disconnected_tokens, _listed([token])]
    if left:
        parts += [words.deleted_left, _listed([resource.sentence(words.remaining, words.fact) for resource in left])]
    subject = words.disconnected.subject.format(name=safe_name)
    return Email(to, subject, "\n\n".join(parts), id=mail_id, language=language)


def about_account(
    language: Language, to: str, name: str, notice: Mapping[str, Any], link: str, *, mail_id: str = ""
) -> Email:
    """Create the email about an account's problem or recovery.

    `notice`: the stored facts. If all problems are resolved, `well` is true. Otherwise, `trouble` names the problem
    (see `problems_of` in actors/service/notifications.py). Facts that an earlier version of the service did not store
    may be absent.
    """
    words, safe_name = WORDS[language], shown_text(name, _MAX_NAME)
    if notice.get("well"):
        subject, text, button = words.well
        subject, text = subject.format(name=safe_name), text.format(name=safe_name, link=link)
        return Email(to, subject, text, id=mail_id, language=language, button=button)
    kind: Any = notice.get("trouble")  # may be unknown, if another version of the service stored it
    problem = words.problems.get(kind, words.other_problem)
    details = [words.cause.format(cause=shown_text(_cause(words, notice) or problem, _MAX_MESSAGE))]
    remedy = _remedy(words, notice)
    if remedy is not None:
        details.append(words.remedy.format(remedy=remedy))
    subject, text, button = words.needs_attention
    text = text.format(name=safe_name, details="\n".join(details), link=link)
    subject = subject.format(name=safe_name, problem=problem)
    return Email(to, subject, f"{text}\n\n{words.about_notices}", id=mail_id, language=language, button=button)


def confirm_reports(
    language: Language,
    to: str,
    owner: str,
    host: str | None,
    url: str,
    service: Service,
    content: MailingContent = "reports",
    *,
    mail_id: str = "",
) -> Email:
    """Create the email that asks a recipient of email reports or alerts to confirm.

    `owner`: the address of the user who wants to send the emails. `host`: the site; None for emails about an account.
    The name of an account is not shown, because users can choose any name and any recipient.
    """
    words = WORDS[language]
    subject, text, button = words.report_confirm[content]
    about = words.several_sites if host is None else host
    text = text.format(owner=owner, about=about, link=url, service_url=service.url)
    return Email(
        to,
        subject.format(about=about),
        text,
        id=mail_id,
        language=language,
        button=button,
        unsubscribe_url=f"{url}/unsubscribe",
    )


def about_target(language: Language, to: str, facts: Mapping[str, Any], link: str, *, mail_id: str = "") -> Email:
    """Create the email about a site or link that the operator has disabled, with the reason, or enabled again.

    `facts`: the stored facts `kind` and `name`, and `reason` if the operator disabled the site or link.
    """
    words, name, reason = WORDS[language], shown_text(facts["name"], _MAX_NAME), facts.get("reason")
    subject, text, button = (words.enabled if reason is None else words.disabled)[facts["kind"]]
    text = text.format(name=name, reason=shown_text(reason or "", MAX_REASON_CHARS), link=link)
    return Email(to, subject.format(name=name), text, id=mail_id, language=language, button=button)


def about_broken_targets(
    language: Language, to: str, broken: Sequence[BrokenLink], more: int, link: str, *, mail_id: str = ""
) -> Email:
    """Create the email about broken targets of links. `more`: the number of targets that are not listed."""
    words = WORDS[language]
    lines = [
        f"{f'{each.host}/' if each.host else ''}{each.code}: {each.target.url}"
        f" ({words.target_problems[each.target.problem]})"
        for each in broken
    ]
    listed = _listed(lines)
    if more:
        listed += f"\n\n{words.more_broken_targets.format(count=words.number(more))}"
    subject, text, button = words.broken_target if len(broken) + more == 1 else words.broken_targets
    subject = subject.format(code=broken[0].code, count=words.number(len(broken) + more))
    return Email(to, subject, text.format(targets=listed, link=link), id=mail_id, language=language, button=button)


def _with_link(
    words: Words, template: Text, to: str, link: Link, service: Service, mail_id: str, *, send: bool
) -> Email:
    text = template.text.format(link=link.url, expiry=words.duration(link.hours), service_url=service.url)
    subject = template.subject.format(service=service.name)
    return Email(to, subject, text, send, mail_id, words.language, template.button)


def _cause(words: Words, notice: Mapping[str, Any]) -> str | None:
    """Return a sentence that describes what happened, or None if only the kind of problem is known."""
    if limit := notice.get("limit"):
        return _limit(words, limit)
    if notice.get("expires_at"):
        return words.expires_on.format(day=words.day(day_of(notice["expires_at"])))
    if notice.get("finding"):
        sentence = finding.sentence(notice["finding"], words.findings, words.fact)
        if sentence is not None:
            return sentence
    message: str | None = notice.get("message")
    code: Any = notice.get("code")
    if words.language == DEFAULT_LANGUAGE:  # the language of the stored messages
        return message
    error = words.errors.get(code)
    if error is None:
        return None
    return f"{error.message} ({message})" if message and code in QUOTES else error.message


def _limit(words: Words, limit: Mapping[str, Any]) -> str | None:
    metric, used, most, day = limit["metric"], limit["used"], limit["limit"], limit["day"]
    if metric == "size":
        used, most = used // _MB, most // _MB
    shown_day = "" if day is None else words.day(day)
    template = words.limits.get(metric)
    return template and template.format(used=words.number(used), limit=words.number(most), day=shown_day)


def _remedy(words: Words, notice: Mapping[str, Any]) -> str | None:
    problem: Any = notice.get("trouble")
    suggestion: Any = notice.get("suggest")
    if problem == "over":
        return words.suggestions.get(suggestion, words.upgrade)
    codes: tuple[Any, ...] = (notice.get("code"), _CODES.get(problem))
    for code in codes:
        error = words.errors.get(code)
        if error is not None and error.remedy:
            return error.remedy
    return None


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {shown_text(line, _MAX_MESSAGE)}" for line in lines)


def shown_text(text: str, most: int) -> str:
    """Return untrusted text on one line, truncated and without control characters, such as bidirectional controls."""
    cut = text if len(text) <= most else text[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"
    return " ".join("".join(char if char.isprintable() else " " for char in cut).split())
