"""`make rules`: list the rules in docs/develop/conformance.md for which no test has a mark."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_RULE = re.compile(r"^\| ([GCASLRWDXY]\d{1,2}) \|", re.MULTILINE)
_IN_PYTHON = re.compile(r"mark\.rule\(([^)]*)\)")
_IN_JAVASCRIPT = re.compile(r"// rules? ([GCASLRWDXY0-9, ]+)")
_NUMBER = re.compile(r"\b[GCASLRWDXY]\d{1,2}\b")


def rules() -> list[str]:
    """Return the numbers of all rules, in the order of the document."""
    return _RULE.findall((ROOT / "docs/develop/conformance.md").read_text())


def named() -> set[str]:
    """Return the numbers of the rules that have at least one marked test."""
    found: set[str] = set()
    for folder in (ROOT / "tests", ROOT / "edge_worker" / "test"):
        for pattern, files in ((_IN_PYTHON, folder.rglob("*.py")), (_IN_JAVASCRIPT, folder.rglob("*.js"))):
            for path in files:
                for match in pattern.findall(path.read_text()):
                    found.update(_NUMBER.findall(match))
    return found


def main() -> None:
    """Print the number of each rule without a test. The exit status is always 0, because such rules may be planned."""
    known = rules()
    proven = named()
    missing = [rule for rule in known if rule not in proven]
    sys.stdout.write(f"{len(known) - len(missing)} of {len(known)} rules are covered by a test\n")
    sys.stdout.write("without a test: " + (" ".join(missing) or "none") + "\n")


if __name__ == "__main__":
    main()
