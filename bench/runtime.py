"""Runs the Worker in the runtime without the emulator, to measure only the CPU time of the Worker.

There are two workerd processes. One runs the Worker and, on another port, a Worker that does nothing. The other process
runs the database, so that most of the database's CPU time is not included.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

from edge_worker.emulator.runtime.capnp import OWN_DATE, databases_config, quote
from edge_worker.emulator.runtime.workerd import Workerd, listening_socket, port_of
from edge_worker.local_http import local_client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    import httpx

BUNDLE = Path(__file__).parents[1] / "svc" / "bundle"
NOTHING = """export default { fetch: () =>
  new Response(null, { status: 302, headers: { location: "https://a.example/" } }) }"""
# The Worker's D1 binding calls this service. It adds the database's name, and forwards the call to the other process.
BINDING = """export default { fetch: async (request, env) => env.D1.fetch(
  `http://d1/query?db=bench&resultsFormat=${new URL(request.url).searchParams.get("resultsFormat")}`,
  { method: "POST", body: await request.arrayBuffer() }) }"""
# Runs the Worker's cron job at the time `at`.
CRON = """import worker from "svc-edge.js";
export default { fetch: async (request, env, ctx) => {
  const scheduledTime = Number(new URL(request.url).searchParams.get("at"));
  await worker.scheduled({ scheduledTime, cron: "* * * * *", noRetry() {} }, env, ctx);
  return new Response(); } }"""
NO_CACHE = "export default { fetch: () => new Response(null, { status: 204 }) }"
SETTINGS = {"INSTALL": "i", "PUSH_SECOND": "420", "PUSH_URL": "http://127.0.0.1:9/", "WORKER_KEY": "k", "BUNDLE": "b"}


class Bare:
    """The running processes.

    `worker_port`: the port of the Worker. `nothing_port`: the port of the Worker that does nothing. `cron_port`: the
    port of the Worker's cron job.
    """

    def __init__(
        self, worker_port: int, nothing_port: int, cron_port: int, pid: int, databases: httpx.AsyncClient
    ) -> None:
        self.worker_port, self.nothing_port = worker_port, nothing_port
        self._cron_port, self._pid, self._databases = cron_port, pid, databases

    def cpu_us(self) -> float:
        """Return the CPU time of the Worker's process in microseconds (Linux: the first field of schedstat)."""
        stats = Path(f"/proc/{self._pid}/task").glob("*/schedstat")
        return sum(int(stat.read_text().split()[0]) for stat in stats) / 1_000

    async def sql(self, sql: str, *params: Any) -> list[dict[str, Any]]:
        """Run a statement and return its rows."""
        body = [{"sql": sql, "params": list(params)}]
        response = (await self._databases.post("/query", params={"db": "bench"}, json=body)).json()
        assert isinstance(response, list), response
        rows: list[dict[str, Any]] = response[0]["results"]
        return rows

    async def cron(self, at: int) -> float:
        """Run the cron job as of `at` (epoch ms). Return the CPU time of the Worker's process in microseconds."""
        async with local_client(base_url=f"http://127.0.0.1:{self._cron_port}", timeout=60) as client:
            began = self.cpu_us()
            response = await client.get("/", params={"at": at})
            used = self.cpu_us() - began
        assert response.is_success, response.text
        return used

    async def configure(self, rows: Mapping[str, object]) -> None:
        """Create the schema, and write the configuration as the service does."""
        for migration in json.loads((BUNDLE / "manifest.json").read_text())["migrations"]:
            for statement in migration:
                await self.sql(statement)
        # Send all rows in one parameter. One call per link would be ten thousand calls.
        await self.sql(
            "insert into config(key, version, body) select key, 1, value from json_each(?)", json.dumps(dict(rows))
        )
        await self.sql("update meta set value = 1 where key = 'config_version'")


@asynccontextmanager
async def open_bare() -> AsyncIterator[Bare]:
    """Run the two workerd processes until the block ends."""
    sockets = {name: listening_socket() for name in ("worker", "nothing", "cron", "databases")}
    with tempfile.TemporaryDirectory(prefix="svc-bench-") as name:
        folder = Path(name)
        (folder / "data").mkdir()
        databases = folder / "databases.capnp"
        databases.write_text(databases_config(folder, init={"databases": {"bench": "a"}, "accounts": {}}))
        scripts = folder / "scripts.capnp"
        scripts.write_text(_scripts_config(folder, port_of(sockets["databases"])))
        async with trio.open_nursery() as nursery:
            base = await Workerd.start(databases, {"databases": sockets["databases"]}, nursery, print)
            taken = {name: sockets[name] for name in ("worker", "nothing", "cron")}
            runtime = await Workerd.start(scripts, taken, nursery, print)
            url = f"http://127.0.0.1:{port_of(sockets['databases'])}"
            async with local_client(base_url=url, timeout=60) as client:
                worker, nothing, cron = (port_of(sockets[name]) for name in ("worker", "nothing", "cron"))
                yield Bare(worker, nothing, cron, runtime.pid, client)
            await runtime.stop()
            await base.stop()
            nursery.cancel_scope.cancel()
    for socket in sockets.values():
        socket.close()


def _scripts_config(folder: Path, databases_port: int) -> str:
    (folder / "svc-edge.js").write_bytes((BUNDLE / "svc-edge.js").read_bytes())
    bound = [f"(name={quote(name)}, text={quote(text)})" for name, text in SETTINGS.items()]
    inner = '(name="fetcher", service="binding")'
    bound.append(f'(name="DB", wrapped=(moduleName="cloudflare-internal:d1-api", innerBindings=[{inner}]))')
    services = [
        _service("worker", 'embed "svc-edge.js"', bound, 'globalOutbound="net", cacheApiOutbound="cache", '),
        _service("nothing", quote(NOTHING), []),
        _service(
            "cron", quote(CRON), bound, 'globalOutbound="net", ', '(name="svc-edge.js", esModule=embed "svc-edge.js")'
        ),
        _service("cache", quote(NO_CACHE), []),
        _service("binding", quote(BINDING), ['(name="D1", service="databases")']),
        f'(name="databases", external=(address="127.0.0.1:{databases_port}", http=()))',
        '(name="net", network=(allow=["private", "public"]))',
    ]
    names = ("worker", "nothing", "cron")
    sockets = ", ".join(f"(name={quote(name)}, http=(), service={quote(name)})" for name in names)
    return (
        'using Workerd = import "/workerd/workerd.capnp";\n'
        f"const config :Workerd.Config = (services=[\n{', '.join(services)}\n], sockets=[{sockets}]);\n"
    )


def _service(name: str, module: str, bindings: Sequence[str], more: str = "", *modules: str) -> str:
    listed = ", ".join([f'(name="w.js", esModule={module})', *modules])
    return (
        f"(name={quote(name)}, worker=(modules=[{listed}], "
        f'compatibilityDate="{OWN_DATE}", {more}bindings=[{", ".join(bindings)}]))'
    )
