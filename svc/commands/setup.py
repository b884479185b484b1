"""`svc init`: asks what the service cannot know, tries the answers, and writes a configuration that explains itself."""

from __future__ import annotations

import getpass
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from svc.commands.arguments import suggested

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from svc.commands.arguments import Commands
    from svc.commands.check import Finding
    from svc.commands.config_file import Answers, Value
    from svc.config import Config

_PROXIES = "127.0.0.1,::1"
_SQLITE = "sqlite:///"
_OF_THE_PACKAGE = Path("/etc/svc/config.toml")
_UNIT = Path("/usr/lib/systemd/system/svc.service")


def add_to(commands: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this file; `shared`: what every command takes."""
    init = commands.add_parser(
        "init",
        parents=[shared],
        help="ask for address, store and mail server, and write a configuration",
        description="Writes --config, or config.toml. Options are the answers that are offered, or taken with --yes;"
        " without one, what the configuration has already. Its other settings are kept.",
    )
    init.add_argument("--yes", action="store_true", help="ask nothing: take the options, and defaults for the rest")
    init.add_argument(
        "--replace", action="store_true", help="write a configuration that is there anew, with its settings"
    )
    init.add_argument("--unchecked", action="store_true", help="do not try the store and the mail server")
    init.add_argument("--base-url", metavar="URL", help="how users reach it, e.g. https://svc.example")
    init.add_argument("--bind", metavar="ADDRESS", help="the address that it listens on")
    init.add_argument("--trusted-proxies", metavar="LIST", help="the web server in front of it, with commas")
    init.add_argument("--data", metavar="FOLDER", help="where database, key file and e-mails lie")
    init.add_argument("--store", metavar="URL", help="sqlite:///PATH or postgresql://USER@HOST/NAME")
    init.add_argument("--smtp-url", metavar="URL", help="smtp://USER:PASSWORD@HOST:587 or smtps://…")
    init.add_argument("--mail-from", metavar="ADDRESS", help="the sender of its e-mails")
    init.set_defaults(command=_init, needs_config=False)


class _NotGood(Exception):
    """An answer cannot be taken; why."""


def _init(_: object, arguments: argparse.Namespace) -> int:
    try:
        return _Dialogue(arguments).run()
    except EOFError:
        sys.exit("svc: no answer, so nothing was written; --yes asks nothing")
    except KeyboardInterrupt:
        sys.exit("\nsvc: interrupted, and nothing was written")
    except (_NotGood, OSError) as error:
        sys.exit(f"svc: {error}")


class _Dialogue:
    """The questions in turn. With --yes nobody is asked, and an answer that is not good ends it."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._given = arguments
        self._path = (arguments.config or Path("config.toml")).absolute()
        # Begins with the settings of the configuration that is there: what is not asked about stays as it is.
        self._answers: Answers = {}
        self._has_smtp = False

    def run(self) -> int:
        """Ask, try, write; 0. Raises _NotGood; OSError: the file cannot be written; EOFError: nobody answers."""
        from svc.commands import config_file

        self._may_be_written()
        self._address()
        folder = self._data()
        owner = folder.stat()
        with config_file.as_owner(owner):
            self._store(folder)
            self._mail()
        config_file.write(self._path, config_file.filled(self._answers), owner)
        print(f"\nWritten: {self._path}. Every other setting is in it, with its default and its reason.\n\nNext:")
        for step in self._next(folder, owner.st_uid):
            print(f"  {step}")
        return 0

    def _may_be_written(self) -> None:
        from svc.commands import config_file
        from svc.config import ConfigError

        if not self._path.exists():
            return
        if self._given.yes and not self._given.replace:
            raise _NotGood(f"{self._path} is there already; --replace writes it anew, with its settings")
        if not self._given.replace and not self._agrees(
            f"{self._path} is there already. Write it anew? Its settings are kept, unless you answer otherwise; its"
            " comments are not."
        ):
            raise _NotGood("nothing was written; --config names another file")
        try:
            self._answers = config_file.read(self._path)
        except ConfigError as error:
            raise _NotGood(f"{self._path} cannot be kept: fix it, or move it aside. {error}") from None
        self._has_smtp = self._answers.get(("mail", "transport")) == "smtp"

    def _offered(self, given: str | None, setting: tuple[str, str], otherwise: str) -> str:
        """What a question offers: the option, else what the configuration has, else this."""
        if given is not None:
            return given
        had: Value = self._answers.get(setting, otherwise)
        return ",".join(had) if isinstance(had, list) else str(had)

    def _address(self) -> None:
        def good(url: str) -> None:
            config = self._with({("http", "base_url"): url} if url else {})
            trouble = config.push_trouble(config.push_url(url)) if url else None
            if trouble is not None:
                print(f"  Note: {trouble}.")

        url = self._ask(
            "How do users and workers reach it? An https address with a public name, e.g. https://svc.example.\n"
            "Empty: only to try it on this machine, and no worker can be installed.",
            self._offered(self._given.base_url, ("http", "base_url"), ""),
            good,
        )
        if self._given.bind is not None:
            self._keep({("http", "bind"): self._given.bind})
        if url or ("http", "base_url") in self._answers:
            self._keep({("http", "base_url"): url})
        if not url:
            return

        def good_list(text: str) -> None:
            self._with({("http", "trusted_proxies"): _listed(text)})

        proxies = self._ask(
            "Which web server is in front of it, for TLS? Its addresses or networks, with commas: what it says of\n"
            "visitors' addresses is believed. Empty: none.",
            self._offered(self._given.trusted_proxies, ("http", "trusted_proxies"), _PROXIES),
            good_list,
        )
        if proxies or ("http", "trusted_proxies") in self._answers:
            self._keep({("http", "trusted_proxies"): _listed(proxies)})

    def _data(self) -> Path:
        """The folder of what it keeps, made if it was not there."""
        made: list[Path] = []

        def good(text: str) -> None:
            folder = Path(text).expanduser().absolute()
            try:
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            except OSError as error:
                raise _NotGood(f"{folder} cannot be made: {error.strerror}") from None
            made.append(folder)

        beside = "/var/lib/svc" if self._path.parent == Path("/etc/svc") else "var"
        before = self._folders_before()
        offered = self._given.data or str(before[0] if before else beside)
        self._ask("Where is its data kept: key file, e-mails, database?", offered, good)
        folder = made[-1]
        moved_from = before[0] if before and folder not in before else None
        if folder.stat().st_uid == 0 and os.geteuid() == 0:
            print(f"  Note: {folder} belongs to root, so a service that another user runs cannot use it.")
        places = {
            ("store", "copies"): folder,
            ("vault", "key_file"): folder / "vault.key",
            ("mail", "folder"): folder / "mail",
        }
        url = str(self._answers.get(("store", "url"), ""))
        if url.startswith(_SQLITE):
            self._keep({("store", "url"): _SQLITE + _moved(url.removeprefix(_SQLITE), moved_from, folder)})
        for name, place in places.items():
            had = self._answers.get(name)
            self._keep({name: str(place) if had is None else _moved(str(had), moved_from, folder)})
        return folder

    def _folders_before(self) -> list[Path]:
        """Where the configuration that is there keeps its data: mostly one folder, first the one of the store."""
        url = str(self._answers.get(("store", "url"), ""))
        files = [url.removeprefix(_SQLITE)] if url.startswith(_SQLITE) else []
        files += [
            str(self._answers[name]) for name in (("mail", "folder"), ("vault", "key_file")) if name in self._answers
        ]
        return [Path(file).absolute().parent for file in files]

    def _store(self, folder: Path) -> None:
        from svc.commands.check import look_at_store

        def good(url: str) -> None:
            self._tried({("store", "url"): url}, look_at_store)

        offered = self._given.store or self._offered(None, ("store", "url"), f"{_SQLITE}{folder / 'svc.db'}")
        url = self._ask(
            "Which store? One file (sqlite:///PATH) carries a large service; or postgresql://USER:PASSWORD@HOST/NAME.",
            offered,
            good,
            secret=bool(urlsplit(offered).password),
        )
        self._keep({("store", "url"): url})

    def _mail(self) -> None:
        from svc.commands.check import look_at_mail

        address = urlsplit(str(self._answers.get(("http", "base_url"), ""))).hostname
        kept: list[Answers] = []

        def good_sender(text: str) -> None:
            self._with({("mail", "from"): text})

        def good(url: str) -> None:
            if not url:
                none: Answers = {("mail", "transport"): "file", ("mail", "smtp_url"): ""} if self._has_smtp else {}
                self._tried(none, look_at_mail)
                kept.append(none)
                return
            url = self._with_password(url)
            sender = self._ask(
                "The sender of its e-mails?",
                self._offered(self._given.mail_from, ("mail", "from"), f"svc@{address or 'localhost'}"),
                good_sender,
            )
            answers: Answers = {("mail", "transport"): "smtp", ("mail", "smtp_url"): url, ("mail", "from"): sender}
            self._tried(answers, look_at_mail)
            kept.append(answers)

        had = self._offered(None, ("mail", "smtp_url"), "") if self._has_smtp else ""
        offered = had if self._given.smtp_url is None else self._given.smtp_url
        self._ask(
            "Which mail server? smtp://USER@HOST:587 (STARTTLS) or smtps://USER@HOST:465; the password is asked for.\n"
            "Empty: none yet, e-mails become files in the data folder, and users cannot confirm their address.",
            offered,
            good,
            secret=bool(urlsplit(offered).password),
        )
        for answers in kept[-1:]:
            self._keep(answers)

    def _with_password(self, url: str) -> str:
        """The address of a mail server with a password, asked for where a user's name is in it and no password."""
        parts = urlsplit(url)
        if self._given.yes or not parts.username or parts.password is not None:
            return url
        asked = f"Password of {parts.username} (is not shown): "
        password = getpass.getpass(asked) if sys.stdin.isatty() else _line(asked)
        user, _, host = parts.netloc.rpartition("@")
        return parts._replace(netloc=f"{user}:{quote(password, safe='')}@{host}").geturl()

    def _next(self, folder: Path, uid: int) -> list[str]:
        """What is left to do, as commands; as the user of the data folder, where we are root."""
        of = suggested(self._given.config)
        as_user = ""
        if os.geteuid() == 0 and uid != 0:
            as_user = f"sudo -u {folder.owner()} "
        serve, backup = f"{as_user}svc serve{of}", f"{as_user}svc backup FILE{of}, once a day"
        if self._path == _OF_THE_PACKAGE and _UNIT.exists():
            serve = "systemctl enable --now svc.socket svc.service"
            backup = "systemctl enable --now svc-backup.timer"
        return [
            f"{as_user}svc check{of}",
            f"{as_user}svc user add YOU@EXAMPLE.COM --confirmed{of}",
            serve,
            f"{backup}. Keep copies of {folder}, above all of vault.key, and of {self._path} on another machine.",
            f"Metrics and limits are not asked about: [metrics] and [limits] in {self._path}.",
        ]

    def _ask(
        self, question: str, offered: str, good: Callable[[str], None] = lambda _: None, *, secret: bool = False
    ) -> str:
        """The answer to a question, or what is offered; again until it is good."""
        if self._given.yes:
            good(offered)
            return offered
        print(f"\n{question}")
        while True:
            shown = "as given or as it was" if secret else offered or "empty"
            typed = _line(f"[{shown}]: ").strip()
            if any(not sign.isprintable() for sign in typed):
                print("  That has characters in it that nobody can see.")
                continue
            answer = typed or offered
            try:
                good(answer)
            except _NotGood as error:
                print(f"  {error}")
            else:
                return answer

    def _agrees(self, question: str) -> bool:
        return not self._given.yes and _line(f"{question} [no]: ").strip().lower() in ("y", "yes")

    def _with(self, answers: Answers) -> Config:
        """The configuration with these answers, and the environment's. Raises _NotGood."""
        from svc.commands.config_file import settings
        from svc.config import ConfigError, made

        try:
            return made(settings({**self._answers, **answers}))
        except ConfigError as error:
            raise _NotGood(str(error).partition("\n")[2].strip()) from None

    def _keep(self, answers: Answers) -> None:
        self._with(answers)
        self._answers.update(answers)

    def _tried(self, answers: Answers, look: Callable[[Config], object]) -> None:
        """Try what the answers name, as `svc check` does. Raises _NotGood: it fails, and is not to be kept so."""
        import trio

        config = self._with(answers)
        if self._given.unchecked:
            return
        found: Finding = trio.run(look, config)  # type: ignore[arg-type]
        print(f"  {found.verdict}: {found.text}")
        if found.verdict == "FAIL" and not self._agrees("  Keep it all the same?"):
            raise _NotGood(f"{found.part}: {found.text}" if self._given.yes else "Then another one.")


def _moved(path: str, before: Path | None, folder: Path) -> str:
    """The path in `folder` where it was in the folder `before`, else as it is; None: nothing moves."""
    absolute = Path(path).absolute()
    if not path or before is None or not absolute.is_relative_to(before):
        return path
    return str(folder / absolute.relative_to(before))


def _listed(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _line(prompt: str) -> str:
    """What is typed. Raises EOFError: nobody is there."""
    print(prompt, end="", flush=True)
    line = sys.stdin.readline()
    if not line:
        print()
        raise EOFError
    return line.rstrip("\n")
