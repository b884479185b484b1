"""`svc store copy` copies every row of a store, to the same or the other database engine."""

from __future__ import annotations

import pytest

from svc.config import ConfigError
from svc.store.engines.copies import transfer
from svc.store.engines.sqlite.place import lock
from tests.backup.places import add_user, config_of, emails_of, fill, rows_of, without
from tests.backup.test_archive import svc


@pytest.mark.rule("X17")
def test_store_copy_has_all_rows(source, target):
    rows = fill(source)
    assert transfer(source.store, target.store) == {table: counted.total() for table, counted in rows.items()}
    assert rows_of(source) == rows
    assert without(rows_of(target), "serving", "epoch") == without(rows, "serving", "epoch")
    assert add_user(target, "next@example.com") == add_user(source, "next@example.com")
    with pytest.raises(ConfigError, match="already"):
        transfer(source.store, target.store)


def test_store_in_use_is_not_copied(tmp_path):
    here, there = config_of(tmp_path / "here"), config_of(tmp_path / "there")
    add_user(here, "one@example.com")
    with lock(here.store.path), pytest.raises(ConfigError, match="Another svc serve uses"):
        transfer(here.store, there.store)
    with pytest.raises(ConfigError, match="already"):
        transfer(here.store, here.store)
    assert not there.store.path.exists()
    transfer(here.store, there.store)
    assert emails_of(there) == {"one@example.com"}


def test_copy_command_prints_the_next_step(tmp_path):
    add_user(config_of(tmp_path / "var"), "one@example.com")
    response = svc(tmp_path, "store", "copy", "--to", "sqlite:///var/other.db")
    assert (response.returncode, b"set [store] url" in response.stdout) == (0, True), response.stderr
    response = svc(tmp_path, "store", "copy", "--to", "mysql://other")
    assert (response.returncode, b"must begin with" in response.stderr) == (1, True)
