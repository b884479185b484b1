"""config.toml: the one that documents every setting, and one of an operator's, made of it by `svc init`."""

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

# A setting's section and name, as they stand in the file.
Value = str | int | float | list[str]
Answers = dict[tuple[str, str], Value]

# Beside this file in what is installed; at the top of the sources.
_PLACES = [Path(__file__).parents[1] / "config.toml", Path(__file__).parents[2] / "config.toml"]
_SETTING = re.compile(r"(\w+) = (.*?)(\s+#.*)?")
_HEAD = """\
# The configuration of svc, made by `svc init`. What begins with # has the default that it shows: take the # away to set
# it. An unknown key is an error. Each setting is also an environment variable, which wins over this file:
# [http] bind is SVC_HTTP_BIND; lists are separated by commas there.
"""


def filled(answers: Answers) -> str:
    """A configuration with these settings, and every other one with its default and its explanation, as a comment.

    Raises ValueError: there is no such setting.
    """
    section, lines, left = "", [], dict(answers)
    for line in next(path for path in _PLACES if path.exists()).read_text().partition("\n\n")[2].splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        found = _SETTING.fullmatch(line)
        if found is None:
            lines.append(line)
        elif (section, found[1]) in left:
            value = left.pop((section, found[1]))
            lines.append(f"{found[1]} = {_toml(value)}   {(found[3] or '').strip()}".rstrip())
        else:
            lines.append(f"#{line}")
    if left:
        raise ValueError(f"no such settings: {left}")
    return "\n".join([_HEAD, *lines, ""])


def read(path: Path) -> Answers:
    """The settings that a configuration has. Raises ConfigError: it cannot be used."""
    load(path, {})
    file = tomllib.loads(path.read_text("utf-8-sig"))
    # The name of a setting in the program is accepted, too, where it differs.
    names = {("mail", "sender"): "from"}
    return {
        (section, names.get((section, key), key)): value
        for section, keys in file.items()
        for key, value in keys.items()
    }


def _toml(value: Value) -> str:
    # JSON's numbers, strings and lists of them are TOML's, but for a character that nobody types.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def write(path: Path, text: str, owner: os.stat_result) -> None:
    """Put `text` in the place of the file, whole or not at all, readable by its owner alone.

    A file that was there hands down its owner and group, which may go on to read it; a new one is of `owner`, if we
    may give it away. Raises OSError.
    """
    was = path.stat() if path.exists() else None
    mode = 0o600 | (was.st_mode & stat.S_IRGRP if was else 0)
    atomic_file.put(path, text.encode(), owner=was or owner, mode=mode)


def shows_passwords(path: Path) -> bool:
    """Whether the file holds a password, and others than its owner and group can read or change it. Raises OSError.

    The file is one that can be read as a configuration.
    """
    file = tomllib.loads(path.read_text("utf-8-sig"))
    urls = (str(file.get("store", {}).get("url", "")), str(file.get("mail", {}).get("smtp_url", "")))
    has_any = any(urlsplit(url).password or "password=" in url for url in urls)
    return has_any and bool(path.stat().st_mode & (stat.S_IROTH | stat.S_IWOTH))


@contextmanager
def as_owner(owner: os.stat_result) -> Iterator[None]:
    """As the user of a folder, where we are root: what root makes in the service's folder, the service cannot open."""
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
    """The answers, as a file with them is read."""
    found: dict[str, dict[str, object]] = {}
    for (section, key), value in answers.items():
        found.setdefault(section, {})[key] = value
    return found
