"""Publish the files of a release on GitHub, Forgejo or Gitea: `python packaging/ci/publish.py FOLDER`.

The workflow sets the tag, the repository and the host in GITHUB_… variables, and a token in TOKEN. The release is a
draft until all files are uploaded. The script needs only Python's standard library.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.request
import uuid
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote

_TIMEOUT_S = 600.0


def publish(folder: Path) -> str:
    """Create the release, upload all files, and return the URL of its page. Raises HTTPError."""
    [notes] = folder.glob("*-notes.md")
    tag = os.environ["GITHUB_REF_NAME"]
    releases = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/releases"
    body = {"tag_name": tag, "name": tag, "body": notes.read_text(encoding="utf-8"), "draft": True}
    release = _send("POST", releases, "application/json", json.dumps(body).encode())
    for path in sorted(folder.iterdir()):
        _upload(release["upload_url"], path)
    published = _send("PATCH", f"{releases}/{release['id']}", "application/json", b'{"draft": false}')
    return str(published["html_url"])


def _upload(upload_url: str, path: Path) -> None:
    """Upload a file. GitHub's URL ends with a template and accepts the bytes; the others accept a form."""
    url, template, _ = upload_url.partition("{")
    content, kind = path.read_bytes(), "application/octet-stream"
    if not template:
        boundary = uuid.uuid4().hex
        kind = f"multipart/form-data; boundary={boundary}"
        content = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="attachment"; filename="{path.name}"\r\n'
            f"Content-Type: application/octet-stream\r\n\r\n"
        ).encode() + content + f"\r\n--{boundary}--\r\n".encode()  # fmt: skip
    _send("POST", f"{url}?name={quote(path.name)}", kind, content)


def _send(method: str, url: str, kind: str, content: bytes) -> dict[str, Any]:
    headers = {"Authorization": f"token {os.environ['TOKEN']}", "Content-Type": kind, "Accept": "application/json"}
    request = urllib.request.Request(url, content, headers, method=method)
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as response:
        found: dict[str, Any] = json.load(response)
        return found


if __name__ == "__main__":
    try:
        print(publish(Path(sys.argv[1])))
    except HTTPError as error:
        sys.exit(f"publish: {error.url} responded with {error.code}: {error.read(1_000).decode(errors='replace')}")
