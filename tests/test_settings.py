"""config.toml is the settings' documentation: it names every one, with its default, and nothing else."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from pydantic import SecretStr

from svc.config import Config, ConfigError, load

ROOT = Path(__file__).parents[1]
FILE = ROOT / "config.toml"


def plain(value):
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, Path):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


def test_the_file_names_every_setting_with_its_default_and_nothing_else():
    written = tomllib.loads(FILE.read_text())
    defaults = {
        section: {
            field.alias or name: plain(getattr(getattr(Config(), section), name))
            for name, field in type(getattr(Config(), section)).model_fields.items()
        }
        for section in Config.model_fields
    }
    assert written == defaults


def test_the_environment_overrides_the_file():
    config = load(
        FILE, {"SVC_HTTP_BIND": "127.0.0.1:0", "SVC_HTTP_TRUSTED_PROXIES": "10.0.0.0/8,::1", "SVC_MAIL_FROM": "a@b.c"}
    )
    assert config.http.bind == "127.0.0.1:0"
    assert config.http.trusted_proxies == ("10.0.0.0/8", "::1")
    assert config.mail.sender == "a@b.c"


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({"SVC_HTTP_BNID": "x"}, "bnid"),
        ({"SVC_HTPP_BIND": "x"}, "SVC_HTPP_BIND"),
        ({"SVC_EDGE_TIMEOUT_S": "-1"}, "timeout_s"),
        ({"SVC_EDGE_TIMEOUT_S": "inf"}, "timeout_s"),
        ({"SVC_TIMING_RETIRING_DAYS": "3651"}, "retiring_days"),
        ({"SVC_LIMITS_LINKS": "9223372036854775808"}, "links"),
        ({"SVC_EDGE_RETRIES": "-1"}, "retries"),
        ({"SVC_EDGE_API_BASE_URL": "ftp://x"}, "api_base_url"),
        *(({"SVC_HTTP_BASE_URL": f"https://svc.example{end}"}, "base_url: must be") for end in ("?x", "#", " ", "\nx")),
        *(
            ({"SVC_HTTP_BASE_URL": url}, "base_url: must be")
            for url in ("https://a:b@svc.example", "https://své.example")
        ),
        *(({"SVC_WORKER_PUSH_URL": f"https://svc.example:{port}"}, "its port is none") for port in ("0", "65536", "x")),
        ({"SVC_STORE_URL": "sqlite:///"}, "[store] url: must name a file"),
        ({"SVC_STORE_URL": "postgresql://u@one:5432,two:70000/d"}, "[store] url: its port is none"),
        ({"SVC_MAIL_TRANSPORT": "smtp"}, "smtp_url"),
        ({"SVC_MAIL_TRANSPORT": "smtp", "SVC_MAIL_SMTP_URL": "smtp://u@h:70000"}, "[mail]: its port is none"),
        ({"SVC_HTTP_TRUSTED_PROXIES": "nonsense"}, "trusted_proxies"),
        ({"SVC_MAIL_FROM": "svc@x\r\nBcc: eve@x"}, "[mail] from: must be an e-mail address"),
        ({"SVC_MAIL_FROM": "=?utf-8?q?a=0d=0ab?=@x"}, "[mail] from: must be an e-mail address"),
        ({"SVC_VAULT_LOST_TOKENS": "yes"}, "lost_tokens"),
        ({"SVC_METRICS_BIND": "9090"}, "[metrics] bind: must be an address and a port"),
        ({"SVC_METRICS_BIND": "127.0.0.1:8080"}, "[metrics] bind must be another address than [http] bind"),
        ({"SVC_HTTP_GRACEFUL_S": "5", "SVC_EDGE_CONNECT_S": "60"}, "[http] graceful_s must be above [edge] connect_s"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(environ, named):
    with pytest.raises(ConfigError) as refused:
        load(None, environ)
    assert named in str(refused.value)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("[http]\nbnid = 1", "[http] bnid: there is no such setting; the nearest is bind"),
        ("[http]\nfoo = 1", "[http] foo: there is no such setting; this section has bind, base_url, trusted_proxies"),
        ("[http]\nsmtp_url = 'x'", "[http] smtp_url: there is no such setting here; it belongs to [mail]"),
        ("[mail]\nform = 'x'", "[mail] form: there is no such setting; the nearest is from"),
        ("[mial]\n", "[mial]: there is no section [mial]; the nearest is [mail]"),
        ("[database]\n", "[database]: there is no section [database]; there are http, store, edge"),
        ("bind = 'x'", "[bind]: is no section; the setting bind belongs below the line [http]"),
        ("http = 1", "[http]: is a section, not a setting"),
        ("[http]\nconnections = 'many'", "[http] connections: must be a whole number"),
        ("[http]\nconnections = 1.5", "[http] connections: must be a whole number"),
        ("[http]\nconnections = 0", "[http] connections: must be above 0"),
        ("[http]\nconnections = []", "[http] connections: must be a whole number"),
        ("[edge]\nretries = -1", "[edge] retries: must be at least 0"),
        ("[timing]\nretiring_days = 9999", "[timing] retiring_days: must be at most 3_650"),
        ("[timing]\ntoken_days = 365", "[timing] token_days: is no setting any more; remove it"),
        ("[limits]\nexports_per_hour = 10", "[limits] exports_per_hour: is no setting any more; remove it"),
        ("[timing]\nhours_kept_days = 1", "[timing] hours_kept_days: must be at least 2"),
        ("[http]\naccess_log = 'perhaps'", "[http] access_log: must be true or false"),
        ("[http]\naccess_log = 2.5", "[http] access_log: must be true or false"),
        ("[edge]\ntimeout_s = 'long'", "[edge] timeout_s: must be a number"),
        ("[edge]\ntimeout_s = nan", "[edge] timeout_s: must be at most 315_360_000"),
        ("[http]\nbind = 8080", "[http] bind: must be text, in quotation marks"),
        ("[vault]\nkey_file = 1", "[vault] key_file: must be text, in quotation marks"),
        ("[store]\nurl = 1", "[store] url: must be text, in quotation marks"),
        ("[http]\ntrusted_proxies = '::1'", "[http] trusted_proxies: must be a list: values in [ ], with commas"),
        ("[http]\ntrusted_proxies = ['x']", "[http] trusted_proxies.0: 'x' is not an IP address or network"),
        ("[worker]\ncanary = ['x']", "[worker] canary.0: 'x' is not the id of an edge account"),
        ("[mail]\ntransport = 'post'", "[mail] transport: must be 'smtp' or 'file'"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_in_its_own_words(tmp_path, line, told):
    path = tmp_path / "config.toml"
    path.write_text(line)
    with pytest.raises(ConfigError) as refused:
        load(path, {})
    first, *lines = str(refused.value).splitlines()
    assert first == "The configuration cannot be used:"
    assert [each[: len(told) + 2] for each in lines] == [f"  {told}"]


def test_all_that_is_wrong_is_told_at_once(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text("[http]\nbnid = 1\nconnections = 0\n[mial]\n")
    with pytest.raises(ConfigError) as refused:
        load(path, {"SVC_HTPP_BIND": "x", "SVC_HTTP": "x", "SVC_EDGE_RETRIES": "many", "SVC_EDGE_RETIRES": "1"})
    assert sorted(str(refused.value).splitlines()[1:]) == [
        "  SVC_HTPP_BIND: there is no section [htpp]; the nearest is [http]",
        "  SVC_HTTP: names a section and no setting of it",
        "  [edge] retires: there is no such setting; the nearest is retries (set by SVC_EDGE_RETIRES)",
        "  [edge] retries: must be a whole number (set by SVC_EDGE_RETRIES)",
        "  [http] bnid: there is no such setting; the nearest is bind",
        "  [http] connections: must be above 0",
        "  [mial]: there is no section [mial]; the nearest is [mail]",
    ]
    path.write_text("[http]\nbind = '[::1]:1'\ngraceful_s = 1\n[metrics]\nbind = '[::1]:1'\n")
    with pytest.raises(ConfigError, match=r"graceful_s must be above .*\n  \[metrics\] bind must be another"):
        load(path, {})


@pytest.mark.parametrize(
    ("environ", "base_url", "push_url"),
    [
        ({}, "", ""),
        ({}, "http://127.0.0.1:5", "http://127.0.0.1:5/edge/push"),
        ({"SVC_WORKER_PUSH_URL": "https://push.example/x"}, "http://127.0.0.1:5", "https://push.example/x"),
        ({"SVC_WORKER_PUSH_URL": "https://push.example/x"}, "", "https://push.example/x"),
    ],
)
def test_workers_push_to_their_own_setting_or_below_the_services_address(environ, base_url, push_url):
    assert load(None, environ).push_url(base_url) == push_url


@pytest.mark.parametrize(
    ("push_url", "trouble"),
    [
        ("", "not set"),
        ("http://svc.example.com/edge/push", "not https"),
        ("https://203.0.113.7/edge/push", "an IP address"),
        ("https://[2001:db8::7]/edge/push", "an IP address"),
        ("https://localhost:8080/edge/push", "no public name"),
        ("https://svc/edge/push", "no public name"),
        ("https://svc.lan./edge/push", "no public name"),
        ("https://svc.home.arpa/edge/push", "no public name"),
        ("https://svc.example.com/edge/push", None),
        ("https://svc.example.com:8443/edge/push", None),
        ("https://local.example.com/edge/push", None),
    ],
)
def test_workers_push_to_public_https_addresses_only_unless_the_operator_says_otherwise(push_url, trouble):
    found = load(None, {}).push_trouble(push_url)
    assert found is None if trouble is None else trouble in (found or "")
    assert load(None, {"SVC_WORKER_ALLOW_LOCAL_PUSH": "true"}).push_trouble(push_url) is None


def test_a_file_is_read_as_editors_write_it_or_its_fault_is_told(tmp_path):
    path = tmp_path / "config.toml"
    path.write_bytes(b'\xef\xbb\xbf[mail] # caf\xc3\xa9\r\nfrom = "svc@x.example"\r\n')
    assert load(path, {}).mail.sender == "svc@x.example"
    path.write_bytes(b"[mail] # caf\xe9\n")
    with pytest.raises(ConfigError, match=r"config\.toml is not UTF-8"):
        load(path, {})


def test_an_unknown_key_in_the_file_is_an_error(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text("[http]\nbnid = 1\n")
    with pytest.raises(ConfigError, match="bnid"):
        load(path, {})


def test_secrets_do_not_show():
    config = load(None, {"SVC_STORE_URL": "postgresql://u:hunter2@h/d", "SVC_MAIL_SMTP_URL": "smtp://u:hunter2@h"})
    assert "hunter2" not in repr(config)
    assert "hunter2" not in str(config)
    for environ in (
        {"SVC_STORE_URL": "postgresql://u:hunter2@h/d", "SVC_STORE_POOL_SIZE": "0"},
        *({"SVC_STORE_URL": f"postgresql://u:hunter2{sign}x@h/d"} for sign in "/?#"),  # read as a port
        {"SVC_MAIL_TRANSPORT": "smtp", "SVC_MAIL_SMTP_URL": "smtp://u:hunter2/x@h"},
        {"SVC_HTTP_BASE_URL": "https://u:hunter2@h"},
    ):
        with pytest.raises(ConfigError) as refused:
            load(None, environ)
        assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql:///d?host=/run/postgresql",
        "postgresql://u@/d",
        "postgresql://u:p%2Fw@[::1]:5432,two:5433/d",
        "sqlite:///svc.db",
    ],
)
def test_the_address_of_a_store_is_taken_as_its_engine_takes_it(url):
    assert load(None, {"SVC_STORE_URL": url}).store.url.get_secret_value() == url
