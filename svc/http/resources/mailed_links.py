"""The error for a link in an email that no longer works."""

from __future__ import annotations

from svc.errors import Invalid, Issue, ServiceError


def invalid_link() -> ServiceError:
    """Return the error for the token of a link. The user can request a new email with a link."""
    return Invalid([Issue("token", "is invalid, was already used, or has expired; request a new email", "used_token")])
