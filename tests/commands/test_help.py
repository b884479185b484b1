"""The help of every command is complete."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from svc.cli import parser_of_all

if TYPE_CHECKING:
    from collections.abc import Iterator


def all_parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the parser, and the parsers of all its commands and their actions."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from all_parsers(each)


def test_help_of_each_command_says_what_it_does():
    descriptions = {parser.prog: parser.description for parser in all_parsers(parser_of_all())}
    assert descriptions["svc user plan"] == "Change a user's plan. The plan sets how many API keys the user can have."
    assert [prog for prog, description in descriptions.items() if not description] == []


def test_help_explains_each_option_and_argument():
    unexplained = [
        f"{parser.prog}: {action.metavar or action.dest}"
        for parser in all_parsers(parser_of_all())
        for action in parser._actions
        if not action.help and not isinstance(action, argparse._SubParsersAction)
    ]
    assert unexplained == []
