"""Generate workerd's configuration as Cap'n Proto text."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edge_worker.emulator.state import Account, Script, Version

JS = Path(__file__).parent / "js"
# Compatibility date of the emulator's own Workers. Uploaded scripts have the date in their upload.
OWN_DATE = "2026-04-01"
# workerd's names for the module kinds of an upload's parts (Cloudflare docs: multipart upload).
KINDS = {
    "application/javascript+module": "esModule",
    "application/javascript": "commonJsModule",
    "text/javascript+module": "esModule",
    "text/javascript": "commonJsModule",
    "text/plain": "text",
    "text/html": "text",
    "application/json": "json",
    "application/wasm": "wasm",
    "application/octet-stream": "data",
}


def quote(text: str) -> str:
    """Return a Cap'n Proto text literal: printable ASCII unchanged, all other UTF-8 bytes escaped."""
    plain = (chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\x{b:02x}" for b in text.encode())
    return '"' + "".join(plain) + '"'


def as_json(value: Any) -> str:
    """Return a Cap'n Proto text literal that contains the value as JSON."""
    return quote(json.dumps(value))


def service_name(account: Account, script: Script) -> str:
    """Return the name of a script's service in the process. The edge has a binding with the same name."""
    return f"s_{account.id}_{script.name}"


@dataclass(frozen=True)
class Running:
    """A script running in a process."""

    account: Account
    script: Script
    version: Version

    @property
    def service(self) -> str:
        """Return the name of the script's service."""
        return service_name(self.account, self.script)


def _binding(run: Running, binding: dict[str, Any]) -> str:
    name = quote(str(binding["name"]))
    match binding["type"]:
        case "d1":
            props = {"account": run.account.id, "script": run.script.name, "database": binding["id"]}
            fetcher = f'(name="front", entrypoint="D1Binding", props=(json={as_json(props)}))'
            inner = f'(name="fetcher", service={fetcher})'
            return f'(name={name}, wrapped=(moduleName="cloudflare-internal:d1-api", innerBindings=[{inner}]))'
        case "json":
            return f"(name={name}, json={as_json(binding['json'])})"
        case _:  # plain_text or secret_text, because uploads.py rejects all other kinds
            return f"(name={name}, text={quote(str(binding['text']))})"


def _script_service(run: Running, folder: Path, settings: dict[str, Any]) -> str:
    """Write the script's modules and the emulator's entry module to `folder`. Return its service's definition."""
    place = folder / run.service
    place.mkdir()
    main = json.dumps("../" + run.version.main_module.removeprefix("./"))
    entry = (JS / "entry.js").read_text().replace('"__MAIN__"', main)
    clock = (JS / "clock.js").read_text().replace("__SETTINGS__", json.dumps(settings))
    (place / "entry").write_text(entry)
    (place / "clock").write_text(clock)
    modules = [
        f'(name="emulator/entry.js", esModule=embed "{run.service}/entry")',
        f'(name="emulator/clock.js", esModule=embed "{run.service}/clock")',
    ]
    for number, module in enumerate(run.version.modules):
        kind = KINDS.get(module.content_type)
        if kind is None:  # for example a source map, which is not executed
            continue
        (place / str(number)).write_bytes(base64.b64decode(module.body))
        name = quote(module.name.removeprefix("./"))
        modules.append(f'(name={name}, {kind}=embed "{run.service}/{number}")')
    flags = [*run.version.compatibility_flags]
    # The emulator's entry module needs this flag to track an invocation across awaits. The only effect of the flag on
    # scripts is that they can import one more module.
    if not {"nodejs_als", "nodejs_compat", "nodejs_compat_v2"} & set(flags):
        flags.append("nodejs_als")
    props = as_json({"account": run.account.id, "script": run.script.name})
    bindings = ",\n    ".join(_binding(run, binding) for binding in run.version.bindings)
    return f"""(name={quote(run.service)}, worker=(
  modules=[{", ".join(modules)}],
  compatibilityDate={quote(run.version.compatibility_date)},
  compatibilityFlags=[{", ".join(map(quote, flags))}],
  globalOutbound=(name="front", entrypoint="Egress", props=(json={props})),
  cacheApiOutbound=(name="front", entrypoint="CacheApi"),
  bindings=[
    {bindings}
  ]))"""


def _own_modules(folder: Path, *names: str) -> str:
    for name in names:
        (folder / name).write_text((JS / name).read_text())
    return ", ".join(f'(name="{name}", esModule=embed "{name}")' for name in names)


def scripts_config(
    running: list[Running], folder: Path, *, init: dict[str, Any], settings: dict[str, dict[str, Any]],
    databases_port: int, emulator_port: int, origin_port: int,
) -> str:  # fmt: skip
    """Return the configuration of the edge and scripts process. `settings`: account id → initial clock settings."""
    services = [_script_service(run, folder, settings[run.account.id]) for run in running]
    to_scripts = [
        binding
        for run in running
        for binding in (
            f"(name={quote(run.service)}, service={quote(run.service)})",
            (
                f"(name={quote(run.service + '_control')}, "
                f'service=(name={quote(run.service)}, entrypoint="EmulatorControl"))'
            ),
        )
    ]
    bindings = [
        f'(name="INIT", json={as_json(init)})',
        '(name="ORIGIN", service="origin")',
        '(name="DATABASES", service="databases")',
        '(name="EMULATOR", service="emulator")',
        '(name="NET", service="net")',
        *to_scripts,
    ]
    services.append(
        f"""(name="front", worker=(modules=[{_own_modules(folder, "front.js", "routes.js", "pages.js")}],
  compatibilityDate="{OWN_DATE}", compatibilityFlags=["enable_request_signal"], globalOutbound="net",
  bindings=[
    {", ".join(bindings)}
  ]))"""
    )
    for name, port in (("origin", origin_port), ("databases", databases_port), ("emulator", emulator_port)):
        services.append(f'(name="{name}", external=(address="127.0.0.1:{port}", http=()))')
    services.append('(name="net", network=(allow=["private", "public"]))')
    control = '(name="control", http=(), service=(name="front", entrypoint="Control"))'
    sockets = f'(name="edge", http=(), service="front"), {control}'
    return _file(services, sockets)


def databases_config(folder: Path, *, init: dict[str, Any]) -> str:
    """Return the configuration of the databases process. The databases' files are in `folder`/data."""
    d1 = f"""(name="d1", worker=(modules=[{_own_modules(folder, "d1.js", "cache.js")}], compatibilityDate="{OWN_DATE}",
  durableObjectNamespaces=[(className="D1Object", uniqueKey="d1", enableSql=true)],
  durableObjectStorage=(localDisk="disk"),
  bindings=[(name="D1", durableObjectNamespace="D1Object"), (name="INIT", json={as_json(init)})]))"""
    disk = f'(name="disk", disk=(path={quote(str(folder / "data"))}, writable=true))'
    return _file([d1, disk], '(name="databases", http=(), service="d1")')


def _file(services: list[str], sockets: str) -> str:
    listed = ",\n".join(services)
    return (
        'using Workerd = import "/workerd/workerd.capnp";\n'
        f"const config :Workerd.Config = (services=[\n{listed}\n], sockets=[{sockets}]);\n"
    )
