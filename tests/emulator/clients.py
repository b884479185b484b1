"""A customer's API client, and the scripts that tests upload."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx

    from edge_worker.emulator.client import Customer

WORKING_PERMISSIONS = [
    "Workers Scripts Write", "D1 Write", "Account Analytics Read", "Account Settings Read",
    "Workers Routes Write", "Zone Read", "DNS Read",
]  # fmt: skip

# The response depends on the path. `/write` writes to the database after it responds, as the product's Worker does.
PROBE = """
let requests = 0;
export default {
  async fetch(request, env, ctx) {
    const url = new URL(request.url);
    const insert = (text) => env.DB.prepare("insert into hit (what) values (?)").bind(text).run();
    if (url.pathname === "/now") return Response.json({ now: Date.now(), iso: new Date().toISOString() });
    if (url.pathname === "/seen") {
      return Response.json({ cf: request.cf ?? null, headers: Object.fromEntries(request.headers) });
    }
    if (url.pathname === "/write") {
      ctx.waitUntil((async () => { await scheduler.wait(60); await insert(url.search); })());
      return new Response("written later");
    }
    if (url.pathname === "/insert") {
      try { await insert("x"); return new Response("ok"); } catch (error) { return new Response(error.message); }
    }
    if (url.pathname === "/queries") {
      let done = 0;
      try {
        for (; done < 60; done++) await env.DB.prepare("select 1").first();
      } catch (error) { return new Response(`${done} ${error.message}`); }
    }
    if (url.pathname === "/batch") {
      const one = env.DB.prepare("select 1");
      try { await env.DB.batch(Array(51).fill(one)); } catch (error) { return new Response(error.message); }
    }
    if (url.pathname === "/isolate") return new Response(String(++requests));
    if (url.pathname.startsWith("/cache")) {
      const cache = url.pathname === "/cache" ? caches.default : await caches.open("own");
      const hit = await cache.match(request.url);
      if (hit) return new Response(`kept ${await hit.text()}`);
      const fresh = new Response("page", { headers: { "cache-control": "max-age=60" } });
      await cache.put(request.url, fresh);
      return new Response("made");
    }
    if (url.pathname === "/throw") throw new Error("on purpose");
    if (url.pathname === "/fetch") {
      try {
        const answer = await fetch(url.searchParams.get("url"), { method: "POST", body: "push" });
        return new Response(`${answer.status} ${await answer.text()}`);
      } catch (error) { return new Response(`lost: ${error.message}`); }
    }
    return new Response(`probe ${env.NAME ?? ""} ${url.pathname}${url.search}`);
  },
  async scheduled(controller, env, ctx) {
    if (controller.scheduledTime === 1) throw new Error("no cron today");
    const late = async () => {
      await scheduler.wait(40);
      if (controller.scheduledTime === 2) throw new Error("late failure");
      const what = `${controller.cron} at ${controller.scheduledTime}`;
      await env.DB.prepare("insert into hit (what) values (?)").bind(what).run();
    };
    ctx.waitUntil(late());
  },
};
"""


class Api:
    """A client for the platform's API that uses one token."""

    def __init__(self, client: httpx.AsyncClient, customer: Customer, value: str) -> None:
        self.client, self.customer, self.value = client, customer, value
        self.account = f"/accounts/{customer.account_id}"

    async def call(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Call the API and return the response. `path`: as in Cloudflare's documentation, without /client/v4."""
        headers = {"Authorization": f"Bearer {self.value}"}
        return await self.client.request(method, path, headers=headers, **more)

    async def result(self, method: str, path: str, **more: Any) -> Any:
        """Return the result of a call that must succeed."""
        response = await self.call(method, path, **more)
        assert response.is_success, response.text
        assert response.json()["success"] is True
        return response.json()["result"]

    async def refusal(self, method: str, path: str, **more: Any) -> tuple[int, int]:
        """Return the HTTP status and the error code of a call that must be rejected."""
        response = await self.call(method, path, **more)
        body = response.json()
        assert body["success"] is False
        assert body["result"] is None
        return response.status_code, body["errors"][0]["code"]

    def form(self, code: str, bindings: list[dict[str, Any]] | None = None, **metadata: Any) -> Any:
        """Return the form fields for the upload of a script."""
        head = {"main_module": "probe.js", "compatibility_date": "2026-04-01", "bindings": bindings or []}
        return [
            ("metadata", (None, json.dumps(head | metadata), "application/json")),
            ("files", ("probe.js", code, "application/javascript+module")),
        ]

    async def upload(self, name: str, code: str = PROBE, bindings: Any = None, **metadata: Any) -> Any:
        """Upload a script with one module."""
        path = f"{self.account}/workers/scripts/{name}"
        return await self.result("PUT", path, files=self.form(code, bindings, **metadata))

    async def database(self, name: str = "counts") -> str:
        """Create a database with the table that PROBE writes to. Return the id of the database."""
        made = await self.result("POST", f"{self.account}/d1/database", json={"name": name})
        await self.query(made["uuid"], "create table hit (what text)")
        return str(made["uuid"])

    async def query(self, database: str, sql: str, *params: Any) -> list[dict[str, Any]]:
        """Return the rows of one statement."""
        path = f"{self.account}/d1/database/{database}/query"
        results = await self.result("POST", path, json={"sql": sql, "params": list(params)})
        return list(results[0]["results"])

    async def route(self, zone: str, pattern: str, script: str | None, **more: Any) -> str:
        """Create a route and return its id."""
        path = f"/zones/{self.customer.zones[zone]}/workers/routes"
        made = await self.result("POST", path, json={"pattern": pattern, "script": script, **more})
        return str(made["id"])

    async def probe(self, zone: str = "shop.example") -> str:
        """Upload PROBE with a database and a route for the whole zone. Return the database's id."""
        database = await self.database()
        await self.upload("probe", bindings=[{"type": "d1", "name": "DB", "id": database}])
        await self.route(zone, f"*{zone}/*", "probe")
        return database
