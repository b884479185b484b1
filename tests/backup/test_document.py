"""What docs/operate/backup.md tells operators to type is typed, in its order, and does what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.backup.places import add_user, config_of, emails_of, fill
from tests.databases import postgres_config

DOCUMENT = Path(__file__).parents[2] / "docs/operate/backup.md"
_FENCED = re.compile(r"^( *)```sh\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


@pytest.mark.rule("X17")
def test_the_blocks_do_what_the_document_says(tmp_path, postgres_url):
    config = config_of(tmp_path / "var")
    fill(config)
    before = emails_of(config)
    blocks = [block for _, block in _FENCED.findall(DOCUMENT.read_text())]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
    environ |= {
        "PATH": f"{Path(sys.executable).parent}:{environ['PATH']}",
        "SVC_HTTP_BASE_URL": "https://svc.example.com",
    }
    said = []
    with postgres_config(postgres_url) as other:
        environ["NEW_STORE_URL"] = other.url.get_secret_value()
        for number, block in enumerate(blocks):
            done = subprocess.run(
                ["sh", "-eu", "-c", block], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
            said.append(done.stdout)
            if number == 1:
                add_user(config, "later@example.com")
        assert emails_of(config) == emails_of(config_of(tmp_path / "other", other)) == before
    assert "It is whole" in said[0]
    assert "is now var/svc.db.before-restore-" in said[2]
    assert "ok   backup" in said[3]
    assert "1 tokens were sealed" in said[5]
    assert "1 accounts will be asked" in said[-1]
    assert not (tmp_path / "drill").exists()
