"""/v1/links: short links."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, cast

from pydantic import Field

from svc import model
from svc.api.ascii_forms import search_forms
from svc.api.disabled import Disabled
from svc.api.endpoint import Endpoint
from svc.api.errors import ErrorObject
from svc.api.fields import (
    DIGITS,
    Count,
    Cursor,
    HttpsUrl,
    Id,
    LinkCode,
    Moment,
    OptionalTime,
    OptionalUrl,
    ShortSearch,
    config_state,
)
from svc.api.link_options import (
    AFTER_URL,
    ENDS_AT,
    FORWARD_QUERY,
    SPLIT,
    STARTS_AT,
    Split,
    Variant,
    split_of,
)
from svc.api.link_rules import Rule, Rules, rules_of
from svc.api.link_texts import NOTE, TAGS, TITLE, LinkNote, LinkTitle, Tag, Tags
from svc.api.shape import Body, EmptyBody, Query, ResponseBody, optional_field
from svc.model import ConfigState, LinkOrder, LinkState, TargetProblem

_URL = "The target of clicks that match no rule. The target cannot be on the link host."
CODE = (
    "The short code. Default: six random characters. Codes that browsers and other programs request automatically"
    " (listed under `not` in the schema) are reserved, and are rejected with the issue `reserved_code`."
)
_RULES = "The Worker applies the first rule that matches."
# The maximum size of a link with ten rules for 300 countries each, a title, a note and tags. In JSON, a character can
# be written as two escape sequences, which take 12 bytes.
LINK_BYTES = 131_072


class LinkRow(Body):
    """A link to create in an account."""

    url: HttpsUrl = Field(description=_URL)
    code: LinkCode | None = Field(None, description=CODE)
    rules: Rules = Field((), description=f"{_RULES} Default: `[]`.")
    title: LinkTitle | None = Field(None, description=f"{TITLE} Default: null.")
    note: LinkNote | None = Field(None, description=f"{NOTE} Default: null.")
    tags: Tags = Field((), description=f"{TAGS} Default: `[]`.")
    forward_query: bool = Field(False, description=f"{FORWARD_QUERY} Default: `false`.")
    starts_at: OptionalTime | None = Field(None, description=f"{STARTS_AT} Default: null.")
    ends_at: OptionalTime | None = Field(None, description=f"{ENDS_AT} Default: null.")
    after_url: OptionalUrl | None = Field(None, description=f"{AFTER_URL} Default: null.")
    split: Split = Field((), description=f"{SPLIT} Default: `[]`.")

    def to_model(self) -> model.WantedLink:
        """Return the link in the form that the service stores."""
        return model.WantedLink(
            url=self.url,
            code=self.code,
            rules=rules_of(self.rules),
            title=self.title or None,
            note=self.note or None,
            tags=self.tags,
            forward_query=self.forward_query,
            starts_at=self.starts_at or None,
            ends_at=self.ends_at or None,
            after_url=self.after_url or None,
            split=split_of(self.split),
        )


class NewLink(LinkRow):
    """A link to create."""

    most_bytes: ClassVar[int] = LINK_BYTES

    account_id: Id


class LinkChange(Body):
    """Changes to a link. Fields that are absent or null keep their value. The code cannot be changed."""

    most_bytes: ClassVar[int] = LINK_BYTES

    url: HttpsUrl | None = Field(None, description=_URL)
    rules: Rules | None = Field(
        None, description=f"The new rules, which replace all existing rules; `[]` removes all rules. {_RULES}"
    )
    title: LinkTitle | None = Field(None, description=f'{TITLE} `""` removes the title.')
    note: LinkNote | None = Field(None, description=f'{NOTE} `""` removes the note.')
    tags: Tags | None = Field(None, description=f"The new tags, which replace all existing tags. {TAGS}")
    forward_query: bool | None = Field(None, description=FORWARD_QUERY)
    starts_at: OptionalTime | None = Field(None, description=f'{STARTS_AT} `""` removes the time.')
    ends_at: OptionalTime | None = Field(None, description=f'{ENDS_AT} `""` removes the time.')
    after_url: OptionalUrl | None = Field(None, description=f'{AFTER_URL} `""` removes the URL.')
    split: Split | None = Field(None, description=f"{SPLIT} `[]` removes the split.")

    def to_model(self) -> model.LinkChange:
        """Return the new values of the fields to change, in the form that the service stores."""
        sent = {name: value for name in type(self).model_fields if (value := getattr(self, name)) is not None}
        change = cast("model.LinkChange", {name: None if value == "" else value for name, value in sent.items()})
        if self.rules is not None:
            change["rules"] = rules_of(self.rules)
        if self.split is not None:
            change["split"] = split_of(self.split)
        return change


class LinkQuery(Query):
    """Filters, order and page of a list of links. A page has at most 1,000 links."""

    # After percent-encoding, `q` and `tag` together have up to 1,080 characters.
    most_chars: ClassVar[int] = 1_500

    account_id: Id | None = optional_field("Only links of this account.")
    q: ShortSearch = Field("", description="Only links whose code, URL or title contains this text. Case is ignored.")
    tag: Tag | None = optional_field("Only links with this tag.")
    order: LinkOrder = Field(
        "oldest",
        description="Sort order: by creation time, by code (ignoring case), or by clicks in the last seven complete UTC"
        " days. Sorting by clicks requires the `reports` scope.",
    )
    state: LinkState = Field("active", description="Only active links, or only deleted links.")
    broken: bool = Field(False, description="Only links with `broken_targets`.")
    limit: Annotated[int, Field(ge=1, le=1000), DIGITS] = Field(1000, description="Maximum number of links.")
    cursor: Cursor | None = optional_field("`next_cursor` of the previous page. All other parameters must be the same.")

    @property
    def listing(self) -> tuple[str | None, ...]:
        """The parameters that must be the same for all pages of this list."""
        tag = () if self.tag is None else (self.tag,)  # without a tag, cursors stay the same as in earlier versions
        filters = (self.tag, "broken") if self.broken else tag
        return (self.order, self.account_id, self.q, self.state, *filters)

    @property
    def contains(self) -> tuple[str, ...]:
        """The forms of `q` to search for in codes and URLs."""
        return search_forms(self.q)


class BrokenTarget(ResponseBody):
    """A target that the service has found to be broken for at least a day."""

    url: str
    problem: TargetProblem = Field(
        description="The target responds with status 404 or 410, the service cannot establish a secure connection"
        " to its host, or the host does not exist."
    )
    since: Moment = Field(description="The time of the service's first request that found the target to be broken.")
    checked_at: Moment = Field(description="The time of the service's last request to the target.")


def settings_of(link: model.Link) -> dict[str, Any]:
    """Return the values of the fields that the user can change, in the form of responses."""
    return {
        "url": link.url,
        "rules": tuple(map(Rule.model_validate, link.rules)),
        "title": link.title,
        "note": link.note,
        "tags": link.tags,
        "forward_query": link.forward_query,
        "starts_at": link.starts_at,
        "ends_at": link.ends_at,
        "after_url": link.after_url,
        "split": tuple(map(Variant.model_validate, link.split)) or None,
    }


class Link(ResponseBody):
    """A short link. `short_url` is null if the account has no link host or the link is deleted."""

    id: str
    account_id: str
    code: str
    short_url: str | None
    url: str
    rules: tuple[Rule, ...]
    title: str | None
    note: str | None
    tags: tuple[str, ...]
    forward_query: bool
    starts_at: Moment | None
    ends_at: Moment | None
    after_url: str | None
    split: tuple[Variant, ...] | None = Field(description="Null if the link has no variants.")
    state: LinkState
    config: ConfigState = Field(
        description="`synced` if the Worker has this version of the link. A link that uses features of a newer version"
        " of the Worker is `pending` until the Worker is updated; until then, the Worker ignores these features."
    )
    live_at: Moment | None = Field(
        description="The time at which the current settings take effect for all visitors. Null while `config` is"
        " `pending`."
    )
    error: ErrorObject | None = Field(
        description="The reason why the service could not send the link to the Worker. Null if there is no error."
    )
    created_at: Moment
    disabled: Disabled | None = optional_field(
        "Present if the operator has disabled the link. Visitors then get the same response as for an unknown code."
    )
    restorable_until: Moment | None = optional_field(
        "The time until which the link can be restored, if its code is still free. Present only if the link is deleted."
    )
    clicks_7d: Count | None = optional_field(
        "Clicks by people in the last seven complete UTC days. Present only in lists, and only with the `reports`"
        " scope."
    )
    broken_targets: tuple[BrokenTarget, ...] | None = optional_field(
        "Present if targets of the link are broken. The service requests each target once a week."
    )

    @classmethod
    def from_model(
        cls, link: model.Link, account: model.Account | model.FormerAccount, clicks_7d: int | None = None
    ) -> Link:
        """Return the response object for a link in `account`.

        `clicks_7d`: the clicks in the last seven days; None omits the field.
        """
        config = config_state(link.version, account.synced_version, link.config_error)
        if link.format > account.edge_link_format:
            config = "pending"
        return cls(
            id=link.id,
            account_id=link.account_id,
            code=link.code,
            short_url=short_url(link, account),
            state=link.state,
            **settings_of(link),
            config=config,
            live_at=link.live_at if config == "synced" else None,
            error=ErrorObject.from_model(link.config_error),
            created_at=link.created_at,
            disabled=Disabled.from_model(link.disabled),
            restorable_until=None if isinstance(account, model.FormerAccount) else link.restorable_until,
            clicks_7d=clicks_7d,
            broken_targets=tuple(BrokenTarget.model_validate(each) for each in link.broken_targets) or None,
        )


class LinkList(ResponseBody):
    """A page of links. A link that exists during all of your page requests appears on exactly one page."""

    links: tuple[Link, ...] = Field(json_schema_extra={"maxItems": 1000})
    next_cursor: str | None = optional_field("Present if there may be more links. The next page can be empty.")


class OneLink(ResponseBody):
    """The link as it is after the request."""

    link: Link


def short_url(link: model.Link, account: model.Account | model.FormerAccount) -> str | None:
    """Return the short URL, or None if the link is deleted or its account has no link host."""
    if account.link_host is None or link.state == "deleted":
        return None
    return f"https://{account.link_host.host}/{link.code}"


LIST = Endpoint(
    method="GET",
    path="/v1/links",
    tag="links",
    summary="List your links",
    scopes=("links",),
    query=LinkQuery,
    response=LinkList,
)
ADD = Endpoint(
    method="POST",
    path="/v1/links",
    tag="links",
    action="link.create",
    summary="Create a short link",
    scopes=("links",),
    body=NewLink,
    response=OneLink,
    status=201,
    codes=("limit_reached", "not_found", "link_host_required", "link_exists", "link_disabled"),
    example={
        "account_id": "acc_k3v5d2m7q4x6a5c3e7zp",
        "url": "https://example.com/",
        "rules": [{"countries": ["DE"], "devices": ["mobile"], "url": "https://example.com/de"}],
        "title": "Autumn sale",
        "tags": ["autumn", "newsletter"],
    },
)
SHOW = Endpoint(
    method="GET",
    path="/v1/links/{link_id}",
    tag="links",
    summary="Show a link",
    scopes=("links",),
    response=OneLink,
)
CHANGE = Endpoint(
    method="PATCH",
    path="/v1/links/{link_id}",
    tag="links",
    action="link.change",
    summary="Change a link",
    description="You cannot change the code. If you change a field other than `title`, `note` and `tags`, `config` is"
    " `pending` until the Worker has received the change. A body that changes nothing is accepted. If the link"
    " is deleted, the response is `not_found`.",
    scopes=("links",),
    body=LinkChange,
    response=OneLink,
    codes=("link_disabled",),
    example={"url": "https://example.com/autumn", "rules": [], "tags": ["autumn"]},
)
DELETE = Endpoint(
    method="DELETE",
    path="/v1/links/{link_id}",
    tag="links",
    action="link.delete",
    summary="Delete a link",
    description="You can immediately reuse the code for another link, unless the operator has disabled the link. You"
    " can still read the deleted link and its report. Within 30 days after the deletion, you can also restore the"
    " link. If you delete the link again, the response is `not_found`.",
    scopes=("links",),
    body=EmptyBody,
    response=OneLink,
)
RESTORE = Endpoint(
    method="POST",
    path="/v1/links/{link_id}/restore",
    tag="links",
    addition=True,
    action="link.restore",
    summary="Restore a deleted link",
    description="The link has the same id, code and totals as before. If another link now has the same code, the"
    " response is `link_exists`. If the link was deleted more than 30 days ago, or together with its account, the"
    " response is `not_found`. If the link is not deleted, the request changes nothing.",
    scopes=("links",),
    body=EmptyBody,
    response=OneLink,
    codes=("limit_reached", "link_host_required", "link_exists", "link_disabled"),
)

ENDPOINTS = (LIST, ADD, SHOW, CHANGE, DELETE, RESTORE)
