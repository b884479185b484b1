"""The English texts of all emails."""

from __future__ import annotations

from svc import finding, remaining_resource
from svc.errors import CATALOGUE
from svc.mail.english_report import ALERT, REPORT
from svc.mail.words import Formats, Text, Words

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip

_BROKEN_TARGETS = (
    "These targets of your links have had a problem for at least a day:\n\n{targets}\n\n"
    "Open each target in a browser. If the target doesn't work, change the link or fix the page. If the target works,"
    " its server rejects only our requests, so you can ignore the problem.\n\n"
    "View the links:\n\n{link}\n\n"
    "You get at most one of these emails a day, and each problem is reported once. You can turn off these emails in"
    " your profile, or with PATCH /v1/me."
)

ENGLISH = Words(
    language="en",
    formats=Formats(
        thousands=",",
        decimal=".",
        months=_MONTHS,
        date="{month} {day}, {year}",
        moment="{date}, {time} UTC",
    ),
    hour="{hours} hour",
    hours="{hours} hours",
    confirm=Text(
        "Confirm your email address for {service}",
        "To confirm your email address, open this link:\n\n{link}\n\n"
        "The link expires in {expiry}. If you didn't sign up at {service_url}, you can ignore this email.",
        "Confirm email address",
    ),
    choose_password=Text(
        "Confirm your email address for {service}",
        "Someone signed up at {service_url} with this email address more than once. If this was you, open this link to"
        " choose a password and confirm your address:\n\n{link}\n\n"
        "The link expires in {expiry}. If this wasn't you, you can ignore this email.",
        "Choose a password",
    ),
    account_exists=Text(
        "You already have an account at {service}",
        "Someone tried to sign up at {service_url} with this email address, but you already have an account.\n\n"
        "If this was you, sign in instead. If you forgot your password, reset it on the sign-in page. If this wasn't"
        " you, you can ignore this email.",
    ),
    reset=Text(
        "Reset your password for {service}",
        "To set a new password, open this link:\n\n{link}\n\n"
        "The link expires in {expiry}. If you didn't request a new password, you can ignore this email, and your"
        " password stays the same.",
        "Set a new password",
    ),
    password_changed=Text(
        "Your password for {service} was changed",
        "The password for your account at {service_url} was changed, and all other browsers were signed out.\n\n"
        "If you changed your password, no action is needed. If you didn't, reset your password on the sign-in page"
        " immediately. This ends all sessions. Then review your API keys.",
    ),
    invitation=Text(
        "Invitation to {service}",
        "The operator of {service_url} has invited you. To sign up with this email address, open this link:\n\n{link}"
        "\n\nThe link works once and expires on {expiry}. If you don't want to sign up, you can ignore this email.",
        "Sign up",
    ),
    confirm_new_address=Text(
        "Confirm your new email address for {service}",
        "To use this email address for your account at {service_url}, open this link:\n\n{link}\n\n"
        "The link expires in {expiry}. If you didn't request this change, you can ignore this email.",
        "Confirm new email address",
    ),
    address_in_use=Text(
        "This email address already has an account at {service}",
        "Someone tried to use this email address for another account at {service_url}. Your account has not changed."
        "\n\nIf this was you, sign in with this address instead. If this wasn't you, you can ignore this email.",
    ),
    email_change_requested=Text(
        "Your email address for {service} is about to change",
        "Someone signed in to your account at {service_url} and asked to change its email address to {new_email}."
        " The address changes when someone opens the link that we sent to the new address.\n\n"
        "If this was you, no action is needed. If it wasn't, open this link to keep your address and set a new"
        " password:\n\n{link}\n\n"
        "This also ends all sessions. Then review your API keys. The link works until {expiry}, even after the address"
        " has changed.",
        "Keep the current address",
    ),
    disabled={
        "link": Text(
            "Your link {name} was disabled",
            "The operator of this service disabled your link {name}.\n\nReason: {reason}\n\n"
            "Visitors now see the same response as for an unknown link. The totals are kept. Only the operator can"
            " enable the link again. View the link:\n\n{link}",
            "View link",
        ),
        "site": Text(
            "Your site {name} was disabled",
            "The operator of this service disabled your site {name}.\n\nReason: {reason}\n\n"
            "Views of the site are no longer counted. The totals are kept. Only the operator can enable the site again."
            " View the site:\n\n{link}",
            "View site",
        ),
    },
    enabled={
        "link": Text(
            "Your link {name} was enabled again",
            "The operator of this service enabled your link {name} again. View the link:\n\n{link}",
            "View link",
        ),
        "site": Text(
            "Your site {name} was enabled again",
            "The operator of this service enabled your site {name} again. View the site:\n\n{link}",
            "View site",
        ),
    },
    disconnected=Text(
        "Your Cloudflare account {name} was disconnected",
        "The operator of {service_url} disconnected your Cloudflare account {name}. Views of its sites are no longer"
        " counted, and its short links no longer work. We keep the totals and reports.",
    ),
    disconnected_tokens="The service cannot delete its own API token. Delete this token in the Cloudflare dashboard:",
    deleted=Text(
        "Your account at {service} was deleted",
        "Your account at {service_url} was deleted, including its sites, links, totals and API keys.",
    ),
    deleted_tokens="These tokens could not be deleted automatically. Delete them in the Cloudflare dashboard:",
    deleted_left="We could not remove these resources from Cloudflare. If you no longer need them, delete them there:",
    deleted_end="This is our last email to you. We no longer store your email address.",
    well=Text(
        "{name} is healthy again",
        "The account {name} is healthy again. No action is needed.\n\nView the account:\n\n{link}",
        "View the account",
    ),
    needs_attention=Text(
        "{name} needs attention: {problem}",
        "The account {name} needs attention.\n\n{details}\n\nView the account:\n\n{link}",
        "View the account",
    ),
    cause="What happened: {cause}",
    remedy="What to do: {remedy}",
    about_notices="You get one email per problem, and another when the account is healthy again. You can turn off these"
    " emails in your profile, or with PATCH /v1/me.",
    problems={
        "revoked": "The account's working token was deleted or disabled in Cloudflare, or has expired.",
        "permission_error": "The account's working token lacks a permission.",
        "resource_drift": "Some of the service's resources at Cloudflare were changed or deleted outside the service.",
        "no_connection": "The account's Worker has not reported for a day.",
        "token_expires_soon": "The account's working token expires soon.",
        "over": "The account has reached a limit of its Cloudflare plan.",
    },
    other_problem="The account needs attention.",
    expires_on="The account's working token expires on {day} (UTC).",
    limits={
        "requests": "The account's Workers received {used} requests on {day}; the plan allows {limit} a day.",
        "writes": "The account's databases wrote {used} rows on {day}; the plan allows {limit} a day.",
        "reads": "The account's databases read {used} rows on {day}; the plan allows {limit} a day.",
        "size": "The Worker's database uses {used} MB of the {limit} MB that the account's plan allows.",
    },
    suggestions={
        "shorter_hourly_retention": "Keep breakdowns for fewer days (on the account's page), or upgrade your"
        " Cloudflare plan.",
        "shorter_month_retention": "Keep breakdowns for fewer months (on the account's page), or upgrade your"
        " Cloudflare plan.",
    },
    upgrade="Upgrade your Cloudflare plan, or delete some of this account's sites.",
    report_confirm={
        "reports": Text(
            "Confirm email reports about {about}",
            "{owner} wants to send you email reports about {about}, with views, visitors and the most viewed pages. To"
            " confirm or decline, open this link:\n\n{link}\n\n"
            "You get no reports unless you confirm. This email was sent by {service_url}.",
            "Confirm or decline",
        ),
        "alerts": Text(
            "Confirm email alerts about {about}",
            "{owner} wants to send you email alerts about {about} when the number of views is unusually high or low. To"
            " confirm or decline, open this link:\n\n{link}\n\n"
            "You get no alerts unless you confirm. This email was sent by {service_url}.",
            "Confirm or decline",
        ),
        "reports_and_alerts": Text(
            "Confirm email reports and alerts about {about}",
            "{owner} wants to send you email reports and alerts about {about}. The reports contain views, visitors and"
            " the most viewed pages. You get an alert when the number of views is unusually high or low. To confirm or"
            " decline, open this link:\n\n{link}\n\n"
            "You get no reports or alerts unless you confirm. This email was sent by {service_url}.",
            "Confirm or decline",
        ),
    },
    several_sites="several sites",
    broken_target=Text("Your link {code} has a broken target", _BROKEN_TARGETS, "View the links"),
    broken_targets=Text("Broken targets of your links: {count}", _BROKEN_TARGETS, "View the links"),
    target_problems={
        "http_404": "page not found, status 404",
        "http_410": "page deleted, status 410",
        "tls_failed": "no secure connection",
        "unknown_host": "the host name does not exist",
    },
    more_broken_targets="Number of further broken targets: {count}",
    report=REPORT,
    alert=ALERT,
    errors=CATALOGUE,
    findings=finding.ENGLISH,
    remaining=remaining_resource.ENGLISH,
)
