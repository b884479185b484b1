"""Reads and writes config.toml. `svc init` creates the operator's file from a template that documents all settings."""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from svc import atomic_file
from svc.config import load

if TYPE_CHECKING:
    from collections.abc import Iterator

# `Answers` maps the section and name of each setting, as in the file, to its value.
Value = str | int | float | list[str]
Answers = dict[tuple[str, str], Value]

# Possible paths of the template: in an installed package, or at the top of a checkout.
_TEMPLATES = [Path(__file__).parents[1] / "config.toml", Path(__file__).parents[2] / "config.toml"]
_SETTING = re.compile(r"(\w+) = (.*?)(\s+#.*)?")
_HEAD = """\
# Configuration of svc, created by `svc init`. Commented-out settings show the defaults. To change one, remove the #
# in front of it. An unknown setting is an error. Environment variables override this file: for example,
# SVC_HTTP_BIND overrides [http] bind. In a variable, separate the items of a list with commas.
"""


def render(answers: Answers) -> str:
    """Return the text of a configuration with these settings. All other settings are commented out.

    Raises ValueError if a setting does not exist.
    """
    section, lines, unused = "", [], dict(answers)
    for line in next(path for path in _TEMPLATES if path.exists()).read_text().partition("\n\n")[2].splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        match = _SETTING.fullmatch(line)
        if match is None:
            lines.append(line)
        elif (section, match[1]) in unused:
            value = unused.pop((section, match[1]))
            lines.append(f"{match[1]} = {_toml(value)}   {(match[3] or '').strip()}".rstrip())
        else:
            lines.append(f"#{line}")
    if unused:
        raise ValueError(f"no such settings: {unused}")
    return "\n".join([_HEAD, *lines, ""])


def read(path: Path) -> Answers:
    """Return the settings in a configuration file. Raises ConfigError if the file is not valid."""
    load(path, {})
    file = tomllib.loads(path.read_text("utf-8-sig"))
    # A file may also set `[mail] from` under its internal name, `sender`.
    names = {("mail", "sender"): "from"}
    return {
        (section, names.get((section, key), key)): value
        for section, keys in file.items()
        for key, value in keys.items()
    }


def _toml(value: Value) -> str:
    # JSON numbers, strings and lists are valid TOML, except for the DEL character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def write(path: Path, text: str, owner: os.stat_result) -> None:
    """Write a file atomically, readable only by its owner.

    An existing file keeps its owner, its group, and the group's permission to read it. A new file gets the owner and
    group of `owner` if the process has permission to set them. Raises OSError.
    """
    was = path.stat() if path.exists() else None
    mode = 0o600 | (was.st_mode & stat.S_IRGRP if was else 0)
    atomic_file.put(path, text.encode(), owner=was or owner, mode=mode)


def has_exposed_password(path: Path) -> bool:
    """Return True if a configuration file contains a password and other users can read or change the file.

    Raises OSError.
    """
    file = tomllib.loads(path.read_text("utf-8-sig"))
    urls = (str(file.get("store", {}).get("url", "")), str(file.get("mail", {}).get("smtp_url", "")))
    return any(map(may_contain_password, urls)) and bool(path.stat().st_mode & (stat.S_IROTH | stat.S_IWOTH))


def may_contain_password(url: str) -> bool:
    """Return True if the URL contains a password, or is not valid, so that any of its parts may be a password."""
    try:
        return bool(urlsplit(url).password) or "password=" in url
    except ValueError:
        return True


@contextmanager
def as_owner(owner: os.stat_result) -> Iterator[None]:
    """Return a context manager that, if this process is root, runs its block as the folder's owner.

    As root, the block would create files that belong to root, and the service could not open them.
    """
    if os.geteuid() != 0 or owner.st_uid == 0:
        yield
        return
    os.setegid(owner.st_gid)
    os.seteuid(owner.st_uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


def settings(answers: Answers) -> dict[str, dict[str, object]]:
    """Return the answers as nested sections, in the form of a parsed configuration file."""
    sections: dict[str, dict[str, object]] = {}
    for (section, key), value in answers.items():
        sections.setdefault(section, {})[key] = value
    return sections
