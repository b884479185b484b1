"""Tests of reading settings from config.toml and the environment, and of the defaults shown in config.toml."""

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


def test_config_file_lists_exactly_all_settings_with_their_defaults():
    written = tomllib.loads(FILE.read_text())
    defaults = {
        section: {
            field.alias or name: plain(getattr(getattr(Config(), section), name))
            for name, field in type(getattr(Config(), section)).model_fields.items()
        }
        for section in Config.model_fields
    }
    assert written == defaults


def test_environment_overrides_the_file():
    config = load(
        FILE, {"SVC_HTTP_BIND": "127.0.0.1:0", "SVC_HTTP_TRUSTED_PROXIES": "10.0.0.0/8,::1", "SVC_MAIL_FROM": "a@b.c"}
    )
    assert config.http.bind == "127.0.0.1:0"
    assert config.http.trusted_proxies == ("10.0.0.0/8", "::1")
    assert config.mail.sender == "a@b.c"


@pytest.mark.parametrize(
    ("text", "proxies"), [("", ()), (" ", ()), ("10.0.0.1, ::1", ("10.0.0.1", "::1")), ("10.0.0.1,", ("10.0.0.1",))]
)
def test_list_in_the_environment_may_be_empty_and_contain_spaces(tmp_path, text, proxies):
    path = tmp_path / "config.toml"
    path.write_text("[http]\ntrusted_proxies = ['192.0.2.1']\n")
    assert load(path, {"SVC_HTTP_TRUSTED_PROXIES": text}).http.trusted_proxies == proxies


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
        *(({"SVC_HTTP_BASE_URL": f"https://svc.example{end}"}, "base_url: must") for end in ("?x", "#", " ", "\nx")),
        *(({"SVC_HTTP_BASE_URL": url}, "base_url: must") for url in ("https://a:b@svc.example", "https://své.example")),
        *(
            ({"SVC_WORKER_PUSH_URL": f"https://svc.example:{port}"}, "has an invalid port")
            for port in ("0", "65536", "x")
        ),
        ({"SVC_STORE_URL": "sqlite:///"}, "[store] url: must name a file"),
        ({"SVC_STORE_URL": "postgresql://u@one:5432,two:70000/d"}, "[store] url: has an invalid port"),
        ({"SVC_STORE_URL": "postgresql://u:12/34@h/d"}, "[store] url: has an @ or # after the host"),
        ({"SVC_MAIL_TRANSPORT": "smtp"}, "smtp_url"),
        ({"SVC_MAIL_SMTP_URL": "smtp://u:p[a@host:587"}, "[mail] smtp_url: is not a valid URL; in a user"),
        ({"SVC_MAIL_SMTP_URL": "smtp://u:12/34@host:587"}, "[mail] smtp_url: must end after the host and the port"),
        ({"SVC_MAIL_TRANSPORT": "smtp", "SVC_MAIL_SMTP_URL": "smtp://u@h:70000"}, "[mail] smtp_url: has an inv"),
        ({"SVC_HTTP_TRUSTED_PROXIES": "nonsense"}, "trusted_proxies"),
        *(
            ({"SVC_WEB_NAME": name}, "[web] name: must have 1 to 40 characters")
            for name in (
                "",
                "  ",
                "a\r\nBcc: eve@x",
                "a\x00",
                "a\u202eb",
                "x" * 10_000,
                "=?utf-8?q?a=0d=0ab?=",
                "\udcff",
            )
        ),
        *(
            ({"SVC_WEB_CONTACT": contact}, "[web] contact: must be an email address or an https URL")
            for contact in (
                "ann",
                "http://x.example",
                "javascript:alert(1)",
                "a@b\nc",
                "mailto:a@b.example",
                "ann@host",
            )
        ),
        *(
            ({"SVC_WEB_IMPRINT_URL": url}, "[web] imprint_url: must be")
            for url in (
                "http://x.example",
                "javascript://x.example/%0aalert(1)",
                "https:///x",
                "//x.example",
                "/imprint",
            )
        ),
        *(
            ({"SVC_WEB_PRIVACY_URL": url}, "[web] privacy_url: must")
            for url in ("https://x.example/\n", 'https://x.example/"', f"https://x.example/{'a' * 2_000}", "https://-")
        ),
        ({"SVC_WEB_TERMS_URL": "https://ann:secret@x.example"}, "[web] terms_url: must not contain a user"),
        ({"SVC_WEB_TERMS_URL": "https://x.example:99999"}, "[web] terms_url: has an invalid port"),
        ({"SVC_MAIL_FROM": "svc@x\r\nBcc: eve@x"}, "[mail] from: must be an email address"),
        ({"SVC_MAIL_FROM": "=?utf-8?q?a=0d=0ab?=@x"}, "[mail] from: must be an email address"),
        ({"SVC_VAULT_LOST_TOKENS": "yes"}, "lost_tokens"),
        ({"SVC_METRICS_BIND": "9090"}, "[metrics] bind: must be an address and a port"),
        ({"SVC_METRICS_BIND": "127.0.0.1:8080"}, "[metrics] bind must differ from [http] bind"),
        ({"SVC_HTTP_GRACEFUL_S": "5", "SVC_EDGE_CONNECT_S": "60"}, "[http] graceful_s must be above [edge] connect_s"),
    ],
)
def test_invalid_setting_is_named(environ, named):
    with pytest.raises(ConfigError) as refused:
        load(None, environ)
    assert named in str(refused.value)


def test_limit_of_0_closes_a_kind_of_object():
    limits = load(None, {"SVC_LIMITS_ACCOUNTS": "0", "SVC_LIMITS_LINKS": "0"}).limits
    assert (limits.accounts, limits.sites, limits.links) == (0, 100, 0)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("[http]\nbnid = 1", "[http] bnid: there is no such setting; did you mean bind?"),
        ("[http]\nfoo = 1", "[http] foo: there is no such setting; the settings of this section are bind, base_url"),
        ("[http]\nsmtp_url = 'x'", "[http] smtp_url: there is no such setting here; it belongs to [mail]"),
        ("[mail]\nform = 'x'", "[mail] form: there is no such setting; did you mean from?"),
        ("[mial]\n", "[mial]: there is no section [mial]; did you mean [mail]?"),
        ("[database]\n", "[database]: there is no section [database]; the sections are http, store, edge"),
        ("bind = 'x'", "[bind]: is not a section; the setting bind belongs below the line [http]"),
        ("http = 1", "[http]: is a section, not a setting"),
        ("[http]\nconnections = 'many'", "[http] connections: must be a whole number"),
        ("[http]\nconnections = 1.5", "[http] connections: must be a whole number"),
        ("[http]\nconnections = 0", "[http] connections: must be above 0"),
        ("[http]\nconnections = []", "[http] connections: must be a whole number"),
        ("[edge]\nretries = -1", "[edge] retries: must be at least 0"),
        ("[timing]\nretiring_days = 9999", "[timing] retiring_days: must be at most 3_650"),
        ("[timing]\ntoken_days = 365", "[timing] token_days: is no longer a setting; remove it"),
        ("[limits]\nexports_per_hour = 10", "[limits] exports_per_hour: is no longer a setting; remove it"),
        ("[timing]\nhours_kept_days = 1", "[timing] hours_kept_days: must be at least 2"),
        ("[http]\naccess_log = 'perhaps'", "[http] access_log: must be true or false"),
        ("[http]\naccess_log = 2.5", "[http] access_log: must be true or false"),
        ("[edge]\ntimeout_s = 'long'", "[edge] timeout_s: must be a number"),
        ("[edge]\ntimeout_s = nan", "[edge] timeout_s: must be at most 315_360_000"),
        ("[limits]\nlinks = true", "[limits] links: must be a number, not true or false"),
        ("[limits]\naccounts = false", "[limits] accounts: must be a number, not true or false"),
        ("[edge]\nretries = false", "[edge] retries: must be a number, not true or false"),
        ("[edge]\ntimeout_s = true", "[edge] timeout_s: must be a number, not true or false"),
        ("[timing]\nretiring_days = true", "[timing] retiring_days: must be a number, not true or false"),
        ("[timing]\nhours_kept_days = true", "[timing] hours_kept_days: must be a number, not true or false"),
        ("[http]\nbind = 8080", "[http] bind: must be text, in quotation marks"),
        ("[vault]\nkey_file = 1", "[vault] key_file: must be text, in quotation marks"),
        ("[store]\nurl = 1", "[store] url: must be text, in quotation marks"),
        (
            "[http]\ntrusted_proxies = '::1'",
            "[http] trusted_proxies: must be a list: values in [ ], separated by commas",
        ),
        ("[http]\ntrusted_proxies = ['x']", "[http] trusted_proxies.0: 'x' is not an IP address or network"),
        ("[worker]\ncanary = ['x']", "[worker] canary.0: 'x' is not a Cloudflare account id"),
        ("[mail]\ntransport = 'post'", "[mail] transport: must be 'smtp' or 'file'"),
    ],
)
def test_problems_in_the_file_are_reported_in_its_terms(tmp_path, line, expected):
    path = tmp_path / "config.toml"
    path.write_text(line)
    with pytest.raises(ConfigError) as refused:
        load(path, {})
    first, *lines = str(refused.value).splitlines()
    assert first == "The configuration is not valid:"
    assert [each[: len(expected) + 2] for each in lines] == [f"  {expected}"]


def test_all_problems_are_reported_together(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text("[http]\nbnid = 1\nconnections = 0\n[mial]\n")
    with pytest.raises(ConfigError) as refused:
        load(path, {"SVC_HTPP_BIND": "x", "SVC_HTTP": "x", "SVC_EDGE_RETRIES": "many", "SVC_EDGE_RETIRES": "1"})
    assert sorted(str(refused.value).splitlines()[1:]) == [
        "  SVC_HTPP_BIND: there is no section [htpp]; did you mean [http]?",
        "  SVC_HTTP: names a section but no setting",
        "  [edge] retires: there is no such setting; did you mean retries? (set by SVC_EDGE_RETIRES)",
        "  [edge] retries: must be a whole number (set by SVC_EDGE_RETRIES)",
        "  [http] bnid: there is no such setting; did you mean bind?",
        "  [http] connections: must be above 0",
        "  [mial]: there is no section [mial]; did you mean [mail]?",
    ]
    path.write_text("[http]\nbind = '[::1]:1'\ngraceful_s = 1\n[metrics]\nbind = '[::1]:1'\n")
    with pytest.raises(ConfigError, match=r"graceful_s must be above .*\n  \[metrics\] bind must differ"):
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
def test_push_url_is_the_setting_or_below_the_base_url(environ, base_url, push_url):
    assert load(None, environ).push_url(base_url) == push_url


@pytest.mark.parametrize(
    ("push_url", "problem"),
    [
        ("", "not set"),
        ("http://svc.example.com/edge/push", "not https"),
        ("https://203.0.113.7/edge/push", "an IP address"),
        ("https://[2001:db8::7]/edge/push", "an IP address"),
        ("https://localhost:8080/edge/push", "not a public name"),
        ("https://svc/edge/push", "not a public name"),
        ("https://svc.lan./edge/push", "not a public name"),
        ("https://svc.home.arpa/edge/push", "not a public name"),
        ("https://svc.example.com/edge/push", None),
        ("https://svc.example.com:8443/edge/push", None),
        ("https://local.example.com/edge/push", None),
    ],
)
def test_push_url_must_be_public_https_unless_local_push_is_allowed(push_url, problem):
    found = load(None, {}).push_url_problem(push_url)
    assert found is None if problem is None else problem in (found or "")
    assert load(None, {"SVC_WORKER_ALLOW_LOCAL_PUSH": "true"}).push_url_problem(push_url) is None


def test_file_with_byte_order_mark_is_read_and_other_encodings_are_rejected(tmp_path):
    path = tmp_path / "config.toml"
    path.write_bytes(b'\xef\xbb\xbf[mail] # caf\xc3\xa9\r\nfrom = "svc@x.example"\r\n')
    assert load(path, {}).mail.sender == "svc@x.example"
    path.write_bytes(b"[mail] # caf\xe9\n")
    with pytest.raises(ConfigError, match=r"config\.toml is not in UTF-8"):
        load(path, {})


def test_unknown_key_is_rejected(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text("[http]\nbnid = 1\n")
    with pytest.raises(ConfigError, match="bnid"):
        load(path, {})


def test_secrets_appear_neither_in_reprs_nor_errors():
    config = load(None, {"SVC_STORE_URL": "postgresql://u:hunter2@h/d", "SVC_MAIL_SMTP_URL": "smtp://u:hunter2@h"})
    assert "hunter2" not in repr(config)
    assert "hunter2" not in str(config)
    urls = (("SVC_STORE_URL", "postgresql"), ("SVC_MAIL_SMTP_URL", "smtp"))
    for environ in (
        {"SVC_STORE_URL": "postgresql://u:hunter2@h/d", "SVC_STORE_POOL_SIZE": "0"},
        # these characters, unencoded in a password, end the host, so the password's beginning would be parsed as a port
        *({"SVC_STORE_URL": f"postgresql://u:hunter2{sign}x@h/d"} for sign in "/?#"),
        {"SVC_MAIL_TRANSPORT": "smtp", "SVC_MAIL_SMTP_URL": "smtp://u:hunter2/x@h"},
        {"SVC_HTTP_BASE_URL": "https://u:hunter2@h"},
        # characters that Python's URL parser treats as separators after normalization (NFKC), and brackets
        *(
            {name: f"{scheme}://u:hunter2{text}@h"}
            for name, scheme in urls
            for text in ("\uff03", "\uff0f", "[", "[hunter2]")
        ),
        *({name: f"{scheme}://u:12{sign}hunter2@h:587"} for name, scheme in urls for sign in ("/", "#")),
        {"SVC_MAIL_SMTP_URL": "smtp://u:12?hunter2@h:587"},
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
        "postgresql://h/d?user=u@example",
        "sqlite:///svc.db",
        "sqlite:////srv/a@b#c/svc.db",
    ],
)
def test_store_url_is_passed_on_unchanged(url):
    assert load(None, {"SVC_STORE_URL": url}).store.url.get_secret_value() == url
