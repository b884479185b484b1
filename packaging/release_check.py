"""Fail if the checkout is not the commit of a version: `python packaging/release_check.py VERSION [KEY]`."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

from build import ROOT, VERSION


class Refused(Exception):
    """The release cannot be built. The argument says why, and what to do."""


def check(version: str, key: Path | None) -> None:
    """Raise Refused if the checkout has changes or is not a commit of this version, or if the key does not exist."""
    if version != VERSION:
        raise Refused(
            f"pyproject.toml has version {VERSION}, not {version!r}: set VERSION={VERSION}, or change the file"
        )
    for path in (
        f"{folder}/{name}.json" for folder in ("edge_worker", "svc/web") for name in ("package", "package-lock")
    ):
        if (other := json.loads((ROOT / path).read_text())["version"]) != version:
            raise Refused(f"{path} has version {other}, not {version}: change the file")
    if changes := _git("status", "--porcelain", "--untracked-files=normal"):
        raise Refused(f"the checkout has changes, such as {changes.splitlines()[0][3:]}: commit or remove them")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not section_of(changelog, version):
        raise Refused(f"CHANGELOG.md has no section {version}: add it")
    if section_of(changelog, "Unreleased"):
        raise Refused(f"CHANGELOG.md has unreleased changes: move them to the section {version}")
    if _git("tag", "--list", f"v{version}") and _git("rev-list", "-n", "1", f"v{version}") != _git("rev-parse", "HEAD"):
        raise Refused(f"the tag v{version} points to another commit: check out the tag, or change the version")
    if key is not None and not key.is_file():
        raise Refused(f"{key} does not exist: set KEY to the file of an SSH key")


def section_of(changelog: str, title: str) -> str:
    """Return the text below this heading of the changelog, or "" if it is missing. A date may follow the title."""
    found = re.search(rf"^## {re.escape(title)}(?: .*)?\n((?:(?!## ).*\n?)*)", changelog, re.MULTILINE)
    return found[1].strip() if found else ""


def _git(*arguments: str) -> str:
    """Return the output of git. Raises Refused if this is not a checkout."""
    found = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode:
        reason, _, _ = found.stderr.strip().partition("\n")
        raise Refused(f"git {arguments[0]} failed: {reason}")
    return found.stdout.rstrip("\n")


def arguments() -> tuple[str, Path | None]:
    """Return the version and the path of the key from the command line. The path is None if there is no key."""
    parser = argparse.ArgumentParser()
    parser.add_argument("version")
    parser.add_argument("key", nargs="?", type=Path)
    given = parser.parse_args()
    return given.version, given.key


if __name__ == "__main__":
    try:
        check(*arguments())
    except Refused as reason:
        sys.exit(f"make release: {reason}")
