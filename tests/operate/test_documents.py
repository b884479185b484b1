"""Check that all blocks in the operator documents have a step, are valid shell, and work as documented."""

from __future__ import annotations

import importlib
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from svc.cli import parser_of_all
from svc.config import Config
from tests.operate.documents import ROOT, Block, NotHere, Step, blocks, commands, documents, open_place

DOCUMENTS = documents()


def steps_of(document: str) -> dict[str, Step | NotHere]:
    """Return the steps that test a document, by block name. A document without blocks needs no module with steps."""
    name = Path(document).stem.replace("-", "_").lower()
    if not blocks(document) and not (Path(__file__).parent / f"{name}.py").exists():
        return {}
    steps: dict[str, Step | NotHere] = importlib.import_module(f"tests.operate.{name}").STEPS
    return steps


@pytest.mark.parametrize("document", DOCUMENTS)
def test_steps_match_blocks_of_document(document):
    assert [block.name for block in blocks(document)] == list(steps_of(document))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_blocks_are_valid_shell_with_existing_commands(document, capsys):
    for block in blocks(document):
        read = subprocess.run(["sh", "-n"], input=block.text, capture_output=True, text=True, check=False)
        assert read.returncode == 0, f"{block}: {read.stderr}"
        for command, *arguments in commands(block):
            if Path(command).name == "svc":
                try:
                    parser_of_all().parse_args(arguments)
                except SystemExit as ended:
                    if ended.code:
                        pytest.fail(f"{block}: svc {' '.join(arguments)}: {capsys.readouterr().err}")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_redirected_backups_are_readable_only_by_their_owner(document):
    """A backup contains the key. Without the umask, the shell creates a file that all users of the host can read."""
    for block in blocks(document):
        for line in block.text.replace("\\\n", " ").splitlines():
            if re.search(r"\bsvc backup - .*>", line):
                assert "umask 077" in line, f"{block}: {line}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_configurations_in_documents_are_valid(document):
    for block in blocks(document, "toml"):
        Config.model_validate(tomllib.loads(block.text))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_referenced_tests_exist(document):
    for name, step in steps_of(document).items():
        if isinstance(step, NotHere) and step.test is not None:
            path, _, test = step.test.partition("::")
            assert re.search(rf"^(async )?def {re.escape(test)}\(", (ROOT / path).read_text(), re.MULTILINE), name


@pytest.mark.parametrize("document", DOCUMENTS)
async def test_blocks_work_as_documented(document, tmp_path):
    async with open_place(tmp_path) as place:
        for block in blocks(document):
            step = steps_of(document)[block.name]
            if not isinstance(step, NotHere):
                await step(place, block)


def test_commands_are_parsed_from_block():
    """The other tests of the documents depend on this parser of commands."""
    text = "A=1 sudo -u svc svc backup - 2>x | age > y && svc health\ncat <<E >z\nsvc 'no\nE\nsvc a \\\n b\n"
    assert commands(Block("x.md", 1, "sh", text)) == [
        ["svc", "backup", "-"],
        ["age"],
        ["svc", "health"],
        ["cat"],
        ["svc", "a", "b"],
    ]
