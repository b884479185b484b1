"""Markers in built pages that the service replaces with the operator's name and logo.

This is the only module of the package that the build imports.
"""

from __future__ import annotations

DEFAULT_NAME = "svc"
TALLY = '<span class="tally" aria-hidden="true"></span>'
BRAND = f"{TALLY}{DEFAULT_NAME}</a>"
HELP_TITLE = f" · {DEFAULT_NAME} help</title>"
ICON = '<link rel="icon" href="/favicon.svg" type="image/svg+xml"'
