"""/v1/{sites,accounts}/{id}/mailings: email reports and their recipients; /m/{token}: the page of a recipient."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import AfterValidator, Field

from svc.api.endpoint import HTML_TYPE, Endpoint
from svc.api.fields import Day, Email, Moment
from svc.api.shape import LARGE_BYTES, Body, ResponseBody
from svc.model import Language, RecipientState

if TYPE_CHECKING:
    from svc import model

MAX_RECIPIENTS = 20


class WantedRecipient(Body):
    """A recipient of email reports."""

    email: Email
    language: Language | None = Field(
        None,
        description="The language of the emails. By default, a new recipient gets emails in the user's language.",
    )


def _without_duplicates(recipients: tuple[WantedRecipient, ...]) -> tuple[WantedRecipient, ...]:
    """Keep the last recipient with each address."""
    return tuple({one.email: one for one in recipients}.values())


class PutMailings(Body):
    """The email reports about a site, or about all sites of an account. The request replaces all earlier settings."""

    most_bytes: ClassVar[int] = LARGE_BYTES

    weekly: bool = Field(description="Send a report every Monday about the previous week (UTC).")
    monthly: bool = Field(description="Send a report on the first day of each month about the previous month (UTC).")
    alerts: bool = Field(
        default=False,
        description="Send an email when a site has far more or far fewer views than usual, or no views at all."
        " Default: false.",
    )
    recipients: Annotated[
        tuple[WantedRecipient, ...],
        Field(max_length=MAX_RECIPIENTS, fail_fast=True),
        AfterValidator(_without_duplicates),
    ]


class Recipient(ResponseBody):
    """A recipient of email reports."""

    email: str
    language: Language
    state: RecipientState = Field(
        description="`unconfirmed`: the recipient has not opened the link in the confirmation email yet. `confirmed`:"
        " the recipient gets the reports. `unsubscribed`: the recipient gets no emails. Only the recipient can"
        " subscribe again, with a link in an earlier email."
    )
    confirmation_sent_at: Moment | None = Field(
        description="The time of the last confirmation email. Null if none was sent."
    )


class Mailings(ResponseBody):
    """The email reports about a site, or about all sites of an account."""

    weekly: bool
    monthly: bool
    alerts: bool
    next_weekly_on: Day | None = Field(description="The day of the next weekly report. Null if weekly reports are off.")
    next_monthly_on: Day | None = Field(
        description="The day of the next monthly report. Null if monthly reports are off."
    )
    recipients: tuple[Recipient, ...] = Field(json_schema_extra={"maxItems": MAX_RECIPIENTS})

    @classmethod
    def from_model(cls, mailing: model.Mailing) -> Mailings:
        """Return the response for email reports."""
        return cls(
            weekly=mailing.weekly_day is not None,
            monthly=mailing.monthly_day is not None,
            alerts=mailing.alerts_from is not None,
            next_weekly_on=mailing.weekly_day,
            next_monthly_on=mailing.monthly_day,
            recipients=tuple(
                Recipient(email=one.email, language=one.language, state=one.state, confirmation_sent_at=one.asked_at)
                for one in mailing.recipients
            ),
        )


class OneMailings(ResponseBody):
    """The email reports as they are after the request."""

    mailings: Mailings


_PUT = (
    "A new recipient gets an email with a link, and gets reports after opening the link and confirming. The user's own"
    " address needs no confirmation. If you repeat the request, recipients who have not confirmed get another email"
    " with a link. Within 24 hours, the service sends at most one of these emails to each address, and at most ten for"
    " each user. A recipient who has unsubscribed stays unsubscribed."
)
_EXAMPLE = {"weekly": True, "monthly": False, "recipients": [{"email": "ann@example.com", "language": "de"}]}

SHOW_SITE = Endpoint(
    method="GET",
    path="/v1/sites/{site_id}/mailings",
    tag="reports",
    addition=True,
    summary="Show the settings for email reports about a site",
    scopes=("sites",),
    response=OneMailings,
)
PUT_SITE = Endpoint(
    method="PUT",
    path="/v1/sites/{site_id}/mailings",
    tag="reports",
    addition=True,
    action="mailing.change",
    summary="Change the settings for email reports about a site",
    description=_PUT,
    scopes=("sites",),
    scopes_text="An API key needs both scopes, `sites` and `reports`, because recipients can read the reports.",
    body=PutMailings,
    response=OneMailings,
    codes=("site_not_active",),
    example=_EXAMPLE,
)
SHOW_ACCOUNT = Endpoint(
    method="GET",
    path="/v1/accounts/{account_id}/mailings",
    tag="reports",
    addition=True,
    summary="Show the settings for email reports about all sites of an account",
    scopes=("accounts",),
    response=OneMailings,
)
PUT_ACCOUNT = Endpoint(
    method="PUT",
    path="/v1/accounts/{account_id}/mailings",
    tag="reports",
    addition=True,
    action="mailing.change",
    summary="Change the settings for email reports about all sites of an account",
    description=_PUT,
    scopes=("accounts",),
    scopes_text="An API key needs both scopes, `accounts` and `reports`, because recipients can read the reports.",
    body=PutMailings,
    response=OneMailings,
    example=_EXAMPLE,
)

_LINK = "The token comes from a link in an email to the recipient. The response is a page for the recipient."

PAGE = Endpoint(
    method="GET",
    path="/m/{token}",
    tag="reports",
    addition=True,
    summary="Show a recipient's page, with buttons to confirm or unsubscribe",
    description=f"Some mail servers open the links in emails automatically, so this request changes nothing. {_LINK}",
    access="anybody",
    response=None,
    media_types=(HTML_TYPE,),
    error_pages=(404,),
    codes=("rate_limited",),
)
CONFIRM = Endpoint(
    method="POST",
    path="/m/{token}/confirm",
    tag="reports",
    addition=True,
    summary="Confirm that a recipient wants to get email reports",
    description=f"The body is ignored. {_LINK}",
    access="anybody",
    response=None,
    media_types=(HTML_TYPE,),
    error_pages=(404,),
    codes=("rate_limited",),
)
UNSUBSCRIBE = Endpoint(
    method="POST",
    path="/m/{token}/unsubscribe",
    tag="reports",
    addition=True,
    summary="Stop the email reports to a recipient",
    description="Mail clients send this request when the recipient clicks “unsubscribe” (RFC 8058). The body is"
    f" ignored. {_LINK}",
    access="anybody",
    response=None,
    media_types=(HTML_TYPE,),
    error_pages=(404,),
    codes=("rate_limited",),
)

ENDPOINTS = (SHOW_SITE, PUT_SITE, SHOW_ACCOUNT, PUT_ACCOUNT, PAGE, CONFIRM, UNSUBSCRIBE)
