"""`svc init`: ask for settings that have no useful default, check the answers, and write a commented configuration."""

from __future__ import annotations

import getpass
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, get_args
from urllib.parse import quote, urlsplit

from svc import atomic_file
from svc.commands import config_file, packaged
from svc.commands.arguments import add_command, config_option
from svc.config import SignUpMode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from svc.commands.arguments import Commands
    from svc.commands.checks.finding import Finding
    from svc.commands.config_file import Answers, Value
    from svc.config import Config

_PROXIES = "127.0.0.1,::1"
_SQLITE = "sqlite:///"


def add_to(commands: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this module. `shared` holds the options common to all commands."""
    init = add_command(
        commands,
        shared,
        "init",
        "ask for the public URL, store and mail server, and write the configuration",
        "The command writes the file given with --config, or config.toml. Options and existing settings become the"
        " default answers. With --yes, the command uses them without asking. The command keeps existing settings"
        " that it does not ask about.",
    )
    init.add_argument(
        "--yes", action="store_true", help="do not prompt; use the options, existing settings and defaults"
    )
    init.add_argument(
        "--replace",
        action="store_true",
        help="update an existing configuration file; settings that you do not change are kept",
    )
    init.add_argument("--unchecked", action="store_true", help="do not check the store or the mail server")
    init.add_argument("--base-url", metavar="URL", help="public URL of the service, such as https://svc.example")
    init.add_argument("--bind", metavar="ADDRESS", help="address and port to listen on")
    init.add_argument("--trusted-proxies", metavar="LIST", help="addresses of the reverse proxies, separated by commas")
    init.add_argument("--data", metavar="FOLDER", help="folder for the database, key file and emails")
    init.add_argument("--store", metavar="URL", help="sqlite:///PATH or postgresql://USER@HOST/NAME")
    init.add_argument("--smtp-url", metavar="URL", help="smtp://USER:PASSWORD@HOST:587 or smtps://…")
    init.add_argument("--mail-from", metavar="ADDRESS", help="sender address of emails")
    init.add_argument("--sign-up", choices=get_args(SignUpMode), help="who may sign up")
    init.set_defaults(command=_init, needs_config=False)


class _Rejected(Exception):
    """Raised if an answer is not valid. The message gives the reason."""


def _init(_: object, arguments: argparse.Namespace) -> int:
    try:
        return _Dialogue(arguments).run()
    except EOFError:
        sys.exit("svc: no answer, nothing was written; use --yes to run without questions")
    except KeyboardInterrupt:
        sys.exit("\nsvc: interrupted, nothing was written")
    except (_Rejected, OSError) as error:
        sys.exit(f"svc: {error}")


class _Dialogue:
    """The questions of `svc init`, in order.

    With --yes, no questions are asked, the default answers are used, and an invalid answer is an error.
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._given = arguments
        self._path = (arguments.config or Path("config.toml")).absolute()
        # The answers. Initially, these are the settings of an existing configuration, so that settings without a
        # question are kept.
        self._answers: Answers = {}
        self._has_smtp = False
        self._was_configured = False

    def run(self) -> int:
        """Ask for the settings, check them, and write the file. Return 0.

        Raises _Rejected; OSError if the file cannot be written; EOFError if standard input has ended.
        """
        self._check_overwrite()
        self._address()
        folder = self._data()
        owner = folder.stat()
        with config_file.as_owner(owner):
            self._store(folder)
            self._mail()
            self._sign_up()
        config_file.write(self._path, config_file.render(self._answers), owner)
        print(f"\nWrote {self._path}. It lists all other settings with their defaults.\n\nNext steps:")
        for step in self._next(folder, owner.st_uid):
            print(f"  {step}")
        return 0

    def _check_overwrite(self) -> None:
        from svc.config import ConfigError

        if not self._path.exists():
            atomic_file.check_writable(self._path.parent)
            return
        if self._given.yes and not self._given.replace:
            raise _Rejected(f"{self._path} already exists; use --replace to rewrite it and keep its settings")
        if not self._given.replace and not self._agrees(
            f"{self._path} already exists. Rewrite it? Settings are kept unless you change them here, but comments are"
            " lost."
        ):
            raise _Rejected("nothing was written; use --config for another file")
        try:
            self._answers = config_file.read(self._path)
        except ConfigError as error:
            raise _Rejected(f"{self._path} is not valid: fix it, or move it aside. {error}") from None
        self._has_smtp = self._answers.get(("mail", "transport")) == "smtp"
        # The Debian package installs a configuration file without a URL.
        self._was_configured = bool(self._answers.get(("http", "base_url")))

    def _default_answer(self, given: str | None, setting: tuple[str, str], otherwise: str) -> str:
        """Return the default answer: the option, or the existing setting, or `otherwise`."""
        if given is not None:
            return given
        existing: Value = self._answers.get(setting, otherwise)
        return ",".join(existing) if isinstance(existing, list) else str(existing)

    def _address(self) -> None:
        def check(url: str) -> None:
            config = self._with({("http", "base_url"): url} if url else {})
            problem = config.push_url_problem(config.push_url(url)) if url else None
            if problem is not None:
                print(f"  Note: {problem}.")

        url = self._ask(
            "What is the public URL of the service? It must use https and a public host name, such as\n"
            "https://svc.example. Leave empty to try the service on this machine without Workers.",
            self._default_answer(self._given.base_url, ("http", "base_url"), ""),
            check,
        )
        if self._given.bind is not None:
            self._keep({("http", "bind"): self._given.bind})
        if url or ("http", "base_url") in self._answers:
            self._keep({("http", "base_url"): url})
        if not url:
            if self._given.trusted_proxies is not None:
                self._keep({("http", "trusted_proxies"): _proxies(self._given.trusted_proxies)})
            return

        def check_list(text: str) -> None:
            self._with({("http", "trusted_proxies"): _proxies(text)})

        proxies = self._ask(
            "Which reverse proxies are in front of the service, for example for TLS? Enter addresses or networks,\n"
            "separated by commas, or `none`. The service trusts their X-Forwarded-For header.",
            self._default_answer(self._given.trusted_proxies, ("http", "trusted_proxies"), _PROXIES),
            check_list,
        )
        if proxies or ("http", "trusted_proxies") in self._answers:
            self._keep({("http", "trusted_proxies"): _proxies(proxies)})

    def _data(self) -> Path:
        """Ask for the data folder, and create it if necessary."""
        created: list[Path] = []

        def check(text: str) -> None:
            folder = Path(text).expanduser().absolute()
            try:
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            except OSError as error:
                raise _Rejected(f"{folder} cannot be created: {error.strerror}") from None
            created.append(folder)

        default = packaged.DATA if self._path.parent == packaged.CONFIG.parent else "var"
        before = self._folders_before()
        offered = self._given.data or str(before[0] if before else default)
        self._ask("Which folder should contain the database, the key file and emails?", offered, check)
        folder = created[-1]
        moved_from = before[0] if before and folder not in before else None
        if folder.stat().st_uid == 0 and os.geteuid() == 0:
            print(f"  Note: {folder} belongs to root, so a service that runs as another user cannot use it.")
        if packaged.is_used_by_units(self._path) and not folder.is_relative_to(packaged.DATA):
            print(f"  Note: {packaged.allow_writes(folder)}")
        places = {
            ("store", "copies"): folder,
            ("vault", "key_file"): folder / "vault.key",
            ("mail", "folder"): folder / "mail",
        }
        url = str(self._answers.get(("store", "url"), ""))
        if url.startswith(_SQLITE):
            self._keep({("store", "url"): _SQLITE + _move_path(url.removeprefix(_SQLITE), moved_from, folder)})
        for name, place in places.items():
            existing = self._answers.get(name)
            self._keep({name: str(place) if existing is None else _move_path(str(existing), moved_from, folder)})
        return folder

    def _folders_before(self) -> list[Path]:
        """Return the data folders of the existing configuration. Usually, there is only one.

        The store's folder comes first.
        """
        url = str(self._answers.get(("store", "url"), ""))
        files = [url.removeprefix(_SQLITE)] if url.startswith(_SQLITE) else []
        files += [
            str(self._answers[name]) for name in (("mail", "folder"), ("vault", "key_file")) if name in self._answers
        ]
        return [Path(file).absolute().parent for file in files]

    def _store(self, folder: Path) -> None:
        from svc.commands.checks.store import check_store

        def check(url: str) -> None:
            self._try({("store", "url"): url}, check_store)

        offered = self._given.store or self._default_answer(None, ("store", "url"), f"{_SQLITE}{folder / 'svc.db'}")
        url = self._ask(
            "Which database? SQLite (sqlite:///PATH) is suitable even for large services. For PostgreSQL, enter\n"
            "postgresql://USER:PASSWORD@HOST/NAME.",
            offered,
            check,
            secret=config_file.may_contain_password(offered),
        )
        self._keep({("store", "url"): url})

    def _mail(self) -> None:
        from svc.commands.checks.mail import check_transport

        address = urlsplit(str(self._answers.get(("http", "base_url"), ""))).hostname
        kept: list[Answers] = []

        def check_sender(text: str) -> None:
            self._with({("mail", "from"): text})

        def check(url: str) -> None:
            if not url:
                none: Answers = {("mail", "transport"): "file", ("mail", "smtp_url"): ""} if self._has_smtp else {}
                if self._given.mail_from is not None:
                    none |= {("mail", "from"): self._given.mail_from}
                self._try(none, check_transport)
                kept.append(none)
                return
            url = self._with_password(url)
            sender = self._ask(
                "Which sender address should emails have?",
                self._default_answer(self._given.mail_from, ("mail", "from"), f"svc@{address or 'localhost'}"),
                check_sender,
            )
            answers: Answers = {("mail", "transport"): "smtp", ("mail", "smtp_url"): url, ("mail", "from"): sender}
            self._try(answers, check_transport)
            kept.append(answers)

        existing = self._default_answer(None, ("mail", "smtp_url"), "") if self._has_smtp else ""
        offered = existing if self._given.smtp_url is None else self._given.smtp_url
        self._ask(
            "Which mail server? Enter smtp://USER@HOST:587 (STARTTLS) or smtps://USER@HOST:465; you are asked for the\n"
            "password next. Leave empty to write emails to files in the data folder instead of sending them.",
            offered,
            check,
            secret=config_file.may_contain_password(offered),
        )
        for answers in kept[-1:]:
            self._keep(answers)

    def _sign_up(self) -> None:
        def check(mode: str) -> None:
            self._with({("auth", "sign_up"): mode})

        otherwise = "open" if self._was_configured else "closed"
        mode = self._ask(
            "Who may sign up? open: anyone who can reach the service. invite: only people with an invitation from\n"
            "svc user invite. closed: only the operator adds users, with svc user add.",
            self._default_answer(self._given.sign_up, ("auth", "sign_up"), otherwise),
            check,
        )
        self._keep({("auth", "sign_up"): mode})

    def _with_password(self, url: str) -> str:
        """Return a mail server's URL with the password.

        If the URL has only a user name, ask for the password, except with --yes. Raises _Rejected.
        """
        self._with({("mail", "smtp_url"): url})
        parts = urlsplit(url)
        if self._given.yes or not parts.username or parts.password is not None:
            return url
        prompt = f"Password of {parts.username} (hidden): "
        password = getpass.getpass(prompt) if sys.stdin.isatty() else _line(prompt)
        user, _, host = parts.netloc.rpartition("@")
        return parts._replace(netloc=f"{user}:{quote(password, safe='')}@{host}").geturl()

    def _next(self, folder: Path, uid: int) -> list[str]:
        """Return the commands to run next.

        If this process is root, the commands switch to the owner of the data folder.
        """
        option = config_option(self._given.config)
        as_user = ""
        if os.geteuid() == 0 and uid != 0:
            as_user = f"sudo -u {folder.owner()} "
        serve, backup = f"{as_user}svc serve{option}", f"{as_user}svc backup FILE{option}   (daily)"
        if packaged.is_used_by_units(self._path):
            serve = "systemctl enable --now svc.socket svc.service"
            backup = "systemctl enable --now svc-backup.timer"
        return [
            f"{as_user}svc check{option}",
            f"{as_user}svc user add YOU@EXAMPLE.COM --confirmed{option}",
            serve,
            backup,
            f"Regularly copy {self._path} and the backups, which contain vault.key, to another machine.",
            f"For metrics and limits, see [metrics] and [limits] in {self._path}.",
        ]

    def _ask(
        self, question: str, offered: str, check: Callable[[str], None] = lambda _: None, *, secret: bool = False
    ) -> str:
        """Ask until the answer is valid, and return it. An empty answer means the default, `offered`."""
        if self._given.yes:
            check(offered)
            return offered
        print(f"\n{question}")
        while True:
            shown = "unchanged" if secret else offered or "empty"
            typed = _line(f"[{shown}]: ").strip()
            if any(not char.isprintable() for char in typed):
                print("  The answer must not contain control characters.")
                continue
            answer = typed or offered
            try:
                check(answer)
            except _Rejected as error:
                print(f"  {error}")
            else:
                return answer

    def _agrees(self, question: str) -> bool:
        return not self._given.yes and _line(f"{question} [no]: ").strip().lower() in ("y", "yes")

    def _with(self, answers: Answers) -> Config:
        """Return the configuration with these answers in addition to the earlier answers. Raises _Rejected."""
        from svc.config import ConfigError, made

        try:
            return made(config_file.settings({**self._answers, **answers}))
        except ConfigError as error:
            raise _Rejected(str(error).partition("\n")[2].strip()) from None

    def _keep(self, answers: Answers) -> None:
        self._with(answers)
        self._answers.update(answers)

    def _try(self, answers: Answers, check: Callable[[Config], object]) -> None:
        """Check the answers as `svc check` does, unless --unchecked is set.

        Raises _Rejected if the check failed and the user did not override it.
        """
        import trio

        config = self._with(answers)
        if self._given.unchecked:
            return
        finding: Finding = trio.run(check, config)  # type: ignore[arg-type]
        print(f"  {finding.verdict}: {finding.text}")
        if finding.verdict == "FAIL" and not self._agrees("  Keep this answer anyway?"):
            raise _Rejected(f"{finding.part}: {finding.text}" if self._given.yes else "Enter another answer.")


def _move_path(path: str, before: Path | None, folder: Path) -> str:
    """Return the path that a file in the folder `before` will have in `folder`.

    A path outside `before` is returned unchanged, as is every path if `before` is None.
    """
    absolute = Path(path).absolute()
    if not path or before is None or not absolute.is_relative_to(before):
        return path
    return str(folder / absolute.relative_to(before))


def _proxies(text: str) -> list[str]:
    """Return the addresses and networks in the answer to the question about reverse proxies."""
    given = [each.strip() for each in text.split(",") if each.strip()]
    return [] if given == ["none"] else given


def _line(prompt: str) -> str:
    """Read a line from standard input. Raises EOFError at its end."""
    print(prompt, end="", flush=True)
    line = sys.stdin.readline()
    if not line:
        print()
        raise EOFError
    return line.rstrip("\n")
