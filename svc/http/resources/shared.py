"""/s/{secret}: the public pages of shares, with their reports, password check and badge.

A request with an unknown secret gets the same response after the same work as a request for a share that has ended. On
the page of an account, the same applies to sites that the page does not show.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING

from quart import Response
from werkzeug.datastructures import Headers

from svc.actors.requests.live_reads import Unavailable
from svc.api import shared as api
from svc.api.endpoint import ID_PREFIXES
from svc.api.reports import Counts
from svc.errors import Forbidden, Invalid, Issue, NotFound, ServiceError, StoreUnavailable, Unauthorized
from svc.http.resources import badge
from svc.http.resources.auth_limits import NetworkLimit
from svc.http.resources.password_check import PasswordCheck
from svc.http.resources.report import site_report
from svc.http.resources.reports import asked_report, asked_span
from svc.http.resources.share_lookups import ShareLookups
from svc.http.serving.credentials import RateLimited, bearer, networks_of
from svc.http.serving.front import headers_of
from svc.ids import digest, is_id
from svc.limits import SlidingLimit
from svc.logs import add_log_context
from svc.model import Account, Link, Site
from svc.model import Counts as Sum
from svc.store import shares, totals

if TYPE_CHECKING:
    from svc.http.resources.auth_events import AuthEvents
    from svc.http.resources.reports import Asked
    from svc.http.resources.spans import Span
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Form, PublicRead, RequestInfo
    from svc.model import Share, UnavailableReason
    from svc.store.shares import AvailableShare
    from svc.store.tx import Tx
    from svc.worker.counts import Live

# The minimum time, in seconds, between two reads of the breakdowns in the Worker's database, for the same share, target
# and days.
LISTS_S = 300
# The maximum number of reads per minute for all shares of a user. The user's own reports have a limit of 30.
LIST_READS_PER_MINUTE = 10
VIEWER_TOKEN_S = 12 * 3600
BADGE_S = 600
# The maximum number of passwords from a client's own network per minute, correct or wrong, for all shares.
_PASSWORDS_PER_MINUTE = 60
_NO_INDEX = {"X-Robots-Tag": "noindex"}
_LABELS = {"site": "views", "link": "clicks", "account": "views"}


class SharedPages:
    """The handlers of /s/{secret}."""

    def __init__(self, deps: Deps, endpoints: Endpoints, auth_events: AuthEvents) -> None:
        self._store = deps.context.store
        self._clock = deps.context.clock
        self._web = deps.web
        self._supervisor = deps.supervisor
        # Viewers who enter passwords wait only for each other, so that they cannot delay users who sign in.
        wrong_per_hour = deps.context.config.limits.wrong_passwords_per_hour
        self._passwords = PasswordCheck(self._store, self._clock, wrong_per_hour, auth_events, concurrent_hashes=1)
        self._password_tries = NetworkLimit(_PASSWORDS_PER_MINUTE)
        self._timing = deps.context.config.timing
        self._lookups = ShareLookups(self._store, self._clock)
        self._list_reads = SlidingLimit(1, window_s=LISTS_S)  # by share, target and days
        self._user_reads = SlidingLimit(LIST_READS_PER_MINUTE)  # by user id
        endpoints.public(api.PAGE, self.page)
        endpoints.public(api.REPORT, self.report)
        endpoints.public(api.SITE_PAGE, self.page)
        endpoints.public(api.SITE_REPORT, self.report)
        endpoints.form(api.SIGN_IN, self.sign_in, self._count_password)
        endpoints.public(api.BADGE, self.badge)

    async def page(self, read: PublicRead[api.PageQuery]) -> Response:
        """Return the page. Browsers get a page even if the request fails."""
        status, headers = HTTPStatus.OK, dict(_NO_INDEX)
        embed: tuple[str, ...] = ()
        try:
            found = await self._find(read.id, read.request)
            embed = found.share.embed
            if read.part_id and found.share.password_hash is None:  # a password also hides which sites exist
                await self._with_site(found, read.part_id)
        except (NotFound, RateLimited, StoreUnavailable) as error:
            if "text/html" not in read.request.accept:
                raise
            status, headers = HTTPStatus(error.status), {**headers, **headers_of(error)}
        if self._web is None:
            raise NotFound
        listed, body = self._web.share_page(read.request.headers, embed)
        response = Response(body, status, Headers([(name.decode(), value.decode()) for name, value in listed]))
        response.headers.update(headers)
        return response

    async def report(self, read: PublicRead[api.SharedReportQuery]) -> Response:
        """Return the counts that the share shows.

        Raises the errors of `_find`. Raises Unauthorized if the viewer has not entered the password, NotFound if the
        share does not show the requested site, or Invalid if it does not offer the requested counts.
        """
        found = await self._find(read.id, read.request)
        share = found.share
        if share.password_hash is not None and not self._is_signed_in(share, read.request.authorization):
            raise Unauthorized("This page requires a password.")
        if read.part_id:
            found = await self._with_site(found, read.part_id)
        query = _allowed(read.query, share)
        if isinstance(found.target, Account):
            now = self._clock()
            shown = await self._store.read(_account_report(found, query, now, self._timing.hours_from(now)))
        else:
            shown = await self._target_report(found, found.target, query)
        return Response(shown.to_bytes(), headers=_NO_INDEX, content_type="application/json")

    def _count_password(self, request: RequestInfo) -> None:
        self._password_tries.count(request.client, self._clock())

    async def sign_in(self, form: Form[api.SharePassword]) -> Response:
        """Return a token for a viewer who has entered the password.

        Raises the errors of `_find`, Forbidden if the password is wrong, or RateLimited after too many passwords.
        """
        found = await self._find(form.id, form.request)
        share, expires_at = found.share, self._clock() + VIEWER_TOKEN_S * 1000
        token = None
        if share.password_hash is not None:
            own_network, _ = networks_of(form.request.client)
            # Pass no user, so that no event is recorded: the viewer is not trying to sign in as the owner.
            matches = await self._passwords.is_correct(
                f"share {share.id} {own_network}",
                share.password_hash,
                form.body.password,
                None,
                via="nobody",
                client=form.request.client,
            )
            if not matches:
                raise Forbidden("invalid_password")
            token = viewer_token(share.id, share.password_hash, expires_at // 1000)
        shown = api.ViewerToken(token=token, expires_at=expires_at)
        return Response(shown.to_bytes(), headers=_NO_INDEX, content_type="application/json")

    async def badge(self, read: PublicRead[api.BadgeQuery]) -> Response:
        """Return the badge. If there is no number to show, the badge says so."""
        label, value, is_muted, kept = read.query.label or "views", "not available", True, f"public, max-age={BADGE_S}"
        try:
            found = await self._find(read.id, read.request)
            label = read.query.label or _LABELS[found.share.target_kind]
            if found.share.password_hash is not None:
                value = "private"
            else:
                value, is_muted = f"{await self._badge_views(found, read.query):,}", False
        except (NotFound, Invalid):  # Invalid: the share does not offer the period
            pass
        except ServiceError:  # too many unknown secrets, or the store does not respond
            value, kept = "try again later", "no-store"
        return Response(
            badge.svg(label, value, muted=is_muted),
            headers={**_NO_INDEX, "Cache-Control": kept, "Cross-Origin-Resource-Policy": "cross-origin"},
            content_type=api.SVG_TYPE,
        )

    async def _badge_views(self, found: AvailableShare, asked: api.BadgeQuery) -> int:
        """Return the number of views that a badge shows. Raises Invalid if the share does not offer the period."""
        given = {} if asked.period is None else {"period": asked.period}
        query = _allowed(api.SharedReportQuery.model_validate(given), found.share)
        now = self._clock()
        return await self._store.read(_views(found, query, now, self._timing.hours_from(now)))

    async def _find(self, secret: str, request: RequestInfo) -> AvailableShare:
        """Return the share with this secret.

        Raises NotFound if there is none, or RateLimited if the client's network has sent too many unknown secrets.
        """
        if not is_id(ID_PREFIXES["secret"], secret):
            raise NotFound
        own_network, _ = networks_of(request.client)
        found = await self._lookups.find(own_network, digest(secret))
        if found is None:
            raise NotFound
        add_log_context(account=found.account.id)
        return found

    async def _with_site(self, found: AvailableShare, site_id: str) -> AvailableShare:
        """Return an account's share with its target replaced by one of the account's sites.

        Raises NotFound if the share does not show this site.
        """
        if not isinstance(found.target, Account) or not is_id(ID_PREFIXES["site_id"], site_id):
            raise NotFound
        site = await self._store.peek(shares.available_site(found.account.id, site_id))
        if site is None:
            raise NotFound
        return replace(found, target=site)

    async def _target_report(
        self, found: AvailableShare, target: Site | Link, query: api.SharedReportQuery
    ) -> api.SharedReport:
        """Return the report of a site or link, with totals from the store. Raises Invalid."""
        if not query.is_extended:  # a query with `by` also gets the fields that the specification does not have
            query = query.model_copy(update={"by": "hour" if query.period == "today" else "day"})
        now = self._clock()
        hours_from = self._timing.hours_from(now)
        asked = await self._store.read(
            asked_report(query, target.id, found.account, target.created_at, now, hours_from)
        )
        lists = await self._lists(found, asked)
        report = site_report(asked.span, asked.stored, lists.live, lists.unavailable, query.limit, asked.compared)
        return api.SharedReport(
            share=_shown(found), report=asked.response(report, lists.live).report, lists_at=lists.again_at
        )

    async def _lists(self, found: AvailableShare, asked: Asked) -> _Lists:
        """Return the breakdowns, which are read at most once per `LISTS_S` for these days, even if the read fails."""
        days = asked.days_to_read(current=False)
        if days is None:
            return _Lists()
        now, owner = self._clock(), str(found.share.user_id)
        name = f"{found.share.id} {days.target_id} {days.first_day} {days.last_day}"
        waits_s: list[int] = []

        def is_admitted() -> bool:
            of_user = self._user_reads.count(owner, now)
            if not of_user.allowed:
                waits_s.append(of_user.reset_s)
                return False
            if not self._list_reads.count(name, now).allowed:
                self._user_reads.give_back(owner)
                return False
            return True

        reads = self._supervisor.live_reads
        live = await reads.read(found.share.user_id, found.account, days, LISTS_S, is_admitted)
        if not isinstance(live, Unavailable):
            return _Lists(live)
        if live.reason == "not_installed":
            return _Lists(unavailable=live.reason)
        own = self._list_reads.count(name, now)
        if own.allowed:
            self._list_reads.give_back(name)
        else:
            waits_s.append(own.reset_s)
        return _Lists(unavailable=live.reason, again_at=now + 1000 * max(waits_s, default=60))

    def _is_signed_in(self, share: Share, authorization: str | None) -> bool:
        try:
            token = bearer(authorization)
        except Unauthorized:
            return False
        expires, _, _ = token.partition(".")
        if share.password_hash is None or not (expires.isascii() and expires.isdecimal()):
            return False
        expected = viewer_token(share.id, share.password_hash, int(expires))
        return hmac.compare_digest(token.encode(), expected.encode()) and int(expires) * 1000 > self._clock()


@dataclass(frozen=True)
class _Lists:
    """The counts from the Worker's database for breakdowns, or the reason why they are unavailable.

    `again_at`: when they can be requested again (epoch ms).
    """

    live: Live | None = None
    unavailable: UnavailableReason | None = None
    again_at: int | None = None


def viewer_token(share_id: str, password_hash: str, expires_at_s: int) -> str:
    """Return the token of a viewer who has entered the password: its expiry (epoch s), and an authentication code.

    The key is the stored hash of the password, so the token is invalid once the password is changed.
    """
    text = f"{share_id} {expires_at_s}"
    code = hmac.new(password_hash.encode(), text.encode(), hashlib.sha256).hexdigest()
    return f"{expires_at_s}.{code}"


def _allowed(query: api.SharedReportQuery, share: Share) -> api.SharedReportQuery:
    """Return the query, with the share's default period if it has none.

    Raises Invalid if the share does not offer what the query asks for.
    """
    if query.breakdowns is not None and not share.lists:
        raise Invalid([Issue("breakdowns", "is not offered by this share", "not_offered")])
    if share.periods is None:
        return query
    given = {"from": query.from_, "to": query.to, "compare": query.compare}
    issues = [Issue(name, "is not offered by this share", "not_offered") for name, value in given.items() if value]
    if issues:
        raise Invalid(issues)
    if "period" in query.model_fields_set:
        if query.period not in share.periods:
            raise Invalid([Issue("period", f"must be one of {', '.join(share.periods)}", "not_offered")])
        return query
    default = query.period if query.period in share.periods else share.periods[0]
    return query.model_copy(update={"period": default})


def _shown(found: AvailableShare) -> api.Shared:
    share, target = found.share, found.target
    title = None  # the name of an account may contain the owner's email address
    if isinstance(target, Site):
        title = target.host
    elif isinstance(target, Link):
        host = found.account.link_host
        title = target.code if host is None else f"{host.host}/{target.code}"
    return api.Shared(
        kind=share.target_kind,
        name=share.name,
        title=title,
        periods=share.periods,
        lists=share.lists and not isinstance(target, Account),
    )


def _span(found: AvailableShare, query: api.SharedReportQuery, now: int, hours_from: int) -> Tx[Span]:
    """Return the days of a badge, or of an account's page. Raises Invalid."""
    first_day = shares.first_day_of_sites if isinstance(found.target, Account) else totals.first_day
    return asked_span(query, first_day(found.target.id), found.target.created_at, now, hours_from)


def _views(found: AvailableShare, query: api.SharedReportQuery, now: int, hours_from: int) -> Tx[int]:
    """Return the number of views over the period, from stored totals. Raises Invalid."""
    span = yield from _span(found, query, now, hours_from)
    if isinstance(found.target, Account):
        sites = yield from shares.site_totals(found.account.id, span.first_day, span.last_day)
        return sum(site.counts.views for site in sites)
    days = yield from totals.day_counts(found.target.id, span.first_day, span.last_day)
    return sum(counts.views for counts, _, _ in days.values())


def _account_report(
    found: AvailableShare, query: api.SharedReportQuery, now: int, hours_from: int
) -> Tx[api.SharedReport]:
    """Return the totals of an account's sites. Raises Invalid."""
    given = {"by": query.by, "compare": query.compare, "breakdowns": query.breakdowns}
    issues = [Issue(name, "is not offered for an account", "not_offered") for name, value in given.items() if value]
    if issues:
        raise Invalid(issues)
    span = yield from _span(found, query, now, hours_from)
    sites = yield from shares.site_totals(found.account.id, span.first_day, span.last_day)
    return api.SharedReport(
        share=_shown(found),
        account=api.SharedSites(
            period=span.period,
            from_=span.first_day,
            to=span.last_day,
            as_of=(yield from totals.pushed_as_of(found.account.id)),
            totals=Counts.model_validate(sum((site.counts for site in sites), Sum())),
            sites=tuple(
                api.SharedSite(id=site.site_id, host=site.host, totals=Counts.model_validate(site.counts))
                for site in sites
            ),
        ),
    )
