"""Rows with the codes of sites, links and the link host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edge_worker.emulator.client import proxied_zone
from tests.actors.codes.case import INSTALLED, row
from tests.actors.codes.tokens import QUICK, REFUSED

if TYPE_CHECKING:
    from tests.actors.codes.case import Case

ROUTES = "/zones/*/workers/routes"
A_SECOND = 1 / 86_400  # in days
BLOCKED = ("status", "ray_id")
ONE_ROUTE, TWO_ROUTES = INSTALLED._replace(routes=1), INSTALLED._replace(routes=2)


async def with_link_host(case: Case) -> str:
    """Install the Worker in an account and set the account's link host."""
    await case.installed()
    assert (await case.put_link_host(f"go.{case.zone}")).status == 202
    await case.wait_until_healthy()
    return f"go.{case.zone}"


async def call_site(case: Case, method: str, subpath: str = "", body: Any = None) -> Any:
    """Send a request about the user's only site."""
    [site] = await case.sites()
    return await case.service.call(method, f"/v1/sites/{site['id']}{subpath}", body)


async def remove_worker_from_route(case: Case, pattern: str) -> None:
    """Remove the Worker from the route as the customer."""
    path, there = await case.customer_api.routes()
    await case.customer_api.call("PUT", f"{path}/{there[pattern]['id']}", json={"pattern": pattern})


# --------------------------------------------------------------------------------------------------- zone_not_found


@row("zone_not_found", "response", details=("host",))
async def a_host_in_no_zone(case: Case) -> None:
    await case.installed()
    other = f"other-{case.zone}"
    await case.expect_error(await case.add_site(other))
    await case.expect_error(await case.put_link_host(f"go.{other}"))
    await case.emulator.set_zone(case.customer.account_id, **proxied_zone(other))
    assert (await case.add_site(other)).status == 202
    assert (await case.put_link_host(f"go.{other}")).status == 202


@row("dns_not_proxied", "response", details=("host", "record"))
async def a_link_host_without_a_proxied_record(case: Case) -> None:
    await case.installed()
    await case.emulator.set_zone(case.customer.account_id, case.zone, dns=[{"name": "@"}])
    await case.expect_error(await case.put_link_host(f"go.{case.zone}"))
    await case.expect_error(await case.put_link_host(f"go.{case.zone}"))
    await case.emulator.set_zone(case.customer.account_id, **proxied_zone(case.zone))
    assert (await case.put_link_host(f"go.{case.zone}")).status == 202


@row("zone_not_active", "response", details=("zone", "status"))
async def a_link_host_in_a_pending_zone(case: Case) -> None:
    await case.installed()
    await case.emulator.set_zone(case.customer.account_id, case.zone, status="pending")
    await case.expect_error(await case.put_link_host(f"go.{case.zone}"))
    await case.expect_error(await case.put_link_host(f"go.{case.zone}"))
    await case.emulator.set_zone(case.customer.account_id, **proxied_zone(case.zone))
    assert (await case.put_link_host(f"go.{case.zone}")).status == 202


@row(
    "dns_not_proxied",
    "site.warnings",
    "link_host.error",
    details=("host", "record"),
    state="active",
    resources=TWO_ROUTES,
    timing=QUICK,
)
async def hosts_that_lose_their_proxy(case: Case) -> None:
    await with_link_host(case)
    await case.active_site()
    await case.emulator.set_zone(case.customer.account_id, case.zone, dns=[{"name": "@"}, {"name": "*"}])
    await case.expect_error()
    await case.post("/check")
    await case.expect_error()
    await case.emulator.set_zone(case.customer.account_id, **proxied_zone(case.zone))


@row(
    "zone_not_active",
    "site.warnings",
    "link_host.error",
    details=("zone", "status"),
    state="active",
    resources=TWO_ROUTES,
    timing=QUICK,
)
async def hosts_whose_zone_moves_away(case: Case) -> None:
    await with_link_host(case)
    await case.active_site()
    await case.emulator.set_zone(case.customer.account_id, case.zone, status="moved")
    await case.expect_error()
    await case.post("/check")
    await case.expect_error()
    await case.emulator.set_zone(case.customer.account_id, case.zone, status="active")


@row("zone_not_active", "site.warnings", details=("zone", "status"), state="route_pending", timing=QUICK)
async def a_site_in_a_pending_zone(case: Case) -> None:
    await case.installed()
    await case.emulator.set_zone(case.customer.account_id, case.zone, status="pending")
    assert (await case.add_site(case.zone)).status == 202
    await case.expect_error()
    await case.post("/check")
    await case.expect_error()
    await case.emulator.set_zone(case.customer.account_id, case.zone, status="active")


@row("zone_not_found", "site.error", "link_host.error", details=("host",), state="route_pending", timing=QUICK)
async def hosts_whose_zone_leaves(case: Case) -> None:
    await with_link_host(case)
    await case.active_site()
    await case.emulator.delete_zone(case.customer.account_id, case.zone)
    await case.expect_error()
    await case.post("/check")
    await case.expect_error()
    await case.emulator.set_zone(case.customer.account_id, **proxied_zone(case.zone))


# ---------------------------------------------------------------------------------------------------------- routes


@row("route_conflict", "link_host.error", state="route_conflict")
async def a_link_host_whose_route_is_taken(case: Case) -> None:
    await case.installed()
    pattern = f"go.{case.zone}/*"
    path, _ = await case.customer_api.routes()
    route = await case.customer_api.call("POST", path, json={"pattern": pattern})
    assert (await case.put_link_host(f"go.{case.zone}")).status == 202
    await case.expect_error()
    assert (await case.put_link_host(f"go.{case.zone}")).status == 202
    await case.expect_error()
    await case.customer_api.call("DELETE", f"{path}/{route['id']}")


@row("route_conflict", "site.error", state="route_conflict", timing=QUICK)
async def a_site_whose_route_is_taken_over(case: Case) -> None:
    await case.installed()
    site = await case.active_site()
    pattern = f"{site['host']}{site['path']}*"
    await remove_worker_from_route(case, pattern)
    await case.expect_error()
    await case.post("/check")
    await case.expect_error()
    path, there = await case.customer_api.routes()
    await case.customer_api.call("DELETE", f"{path}/{there[pattern]['id']}")


@row("route_not_ours", "site.error", details=("pattern",), state="deleted")
async def a_deleted_site_whose_route_was_changed(case: Case) -> None:
    await case.installed()
    site = await case.active_site()
    pattern = f"{site['host']}{site['path']}*"
    await remove_worker_from_route(case, pattern)
    assert (await call_site(case, "DELETE")).status == 200
    await case.expect_error()
    await case.service.idle()
    await case.expect_error()
    path, there = await case.customer_api.routes()
    await case.customer_api.call("DELETE", f"{path}/{there[pattern]['id']}")
    assert (await case.add_site(case.zone)).status == 202


@row(
    "route_not_ours",
    "site.error",
    details=("pattern",),
    state="active",
    resources=ONE_ROUTE,
    timing={"retiring_days": A_SECOND},
)
async def an_old_path_whose_route_was_changed(case: Case) -> None:
    await case.installed()
    site = await case.active_site()
    pattern = f"{site['host']}{site['path']}*"
    assert (await call_site(case, "POST", "/rotate")).status == 200
    await remove_worker_from_route(case, pattern)
    case.place.clock.advance_s(1.5)
    await case.expect_error()
    await case.service.idle()
    await case.expect_error()
    path, there = await case.customer_api.routes()
    await case.customer_api.call("DELETE", f"{path}/{there[pattern]['id']}")
    assert (await call_site(case, "PATCH", body={})).status == 200  # a change to the site clears the error


@row("cloudflare_error", "site.error", "link_host.error", details=REFUSED, state="route_pending")
async def routes_that_a_zone_refuses(case: Case) -> None:
    await case.installed()
    await case.refuse(ROUTES, "POST", code=10073)
    assert (await case.put_link_host(f"go.{case.zone}")).status == 202
    assert (await case.add_site(case.zone)).status == 202
    await case.expect_error()
    await case.service.idle()
    await case.expect_error()
    await case.emulator.clear_faults()


# ------------------------------------------------------------------------------------------------------ the firewall


@row("edge_firewall", "link.error", details=BLOCKED, state="active", resources=ONE_ROUTE)
async def a_link_that_the_firewall_refuses(case: Case) -> None:
    await with_link_host(case)
    await case.emulator.set_failure_settings(firewall_also=b"/evil".hex())
    link = (await case.add_link(url="https://example.org/evil")).body["link"]
    await case.expect_error()
    path = f"/v1/links/{link['id']}"
    assert (await case.service.call("PATCH", path, {"url": "https://example.org/evil/2"})).status == 200
    await case.expect_error()
    assert (await case.service.call("PATCH", path, {"url": "https://example.org/good"})).status == 200


@row("edge_firewall", "site.error", details=BLOCKED, state="active", resources=ONE_ROUTE)
async def a_site_that_the_firewall_refuses(case: Case) -> None:
    await case.installed()
    await case.emulator.set_failure_settings(firewall_also=b"/evil".hex())
    assert (await case.add_site(case.zone, excluded_paths=["/evil"])).status == 202
    await case.expect_error()
    assert (await case.sites())[0]["config"] == "pending"
    assert (await call_site(case, "PATCH", body={"excluded_paths": ["/evil/2"]})).status == 200
    await case.expect_error()
    assert (await call_site(case, "PATCH", body={"excluded_paths": ["/good"]})).status == 200


@row("daily_limit", "account.error.warnings", resources=ONE_ROUTE)
async def links_added_when_todays_rows_are_used_up(case: Case) -> None:
    await with_link_host(case)
    await case.emulator.set_limits(case.customer.account_id, rows_written=0)
    assert (await case.add_link()).status == 201
    await case.expect_error()
    assert (await case.add_link()).status == 201
    await case.service.idle()
    await case.expect_error()
    await case.emulator.set_limits(case.customer.account_id, rows_written=None)  # a paid plan
    assert (await case.post("/check")).status == 200


# ------------------------------------------------------------------------------------------- refused requests


@row("site_exists", "response", resources=ONE_ROUTE)
async def a_second_site_with_the_host(case: Case) -> None:
    await case.installed()
    await case.active_site()
    await case.expect_error(await case.add_site(case.zone))
    await case.expect_error(await case.add_site(case.zone.upper()))


@row("site_not_active", "response")
async def a_change_of_a_deleted_site(case: Case) -> None:
    await case.installed()
    site = (await case.add_site(case.zone)).body["site"]
    assert (await call_site(case, "DELETE")).status == 200
    await case.wait_until_unrouted()
    path = f"/v1/sites/{site['id']}"
    await case.expect_error(await case.service.call("PATCH", path, {"excluded_paths": []}))
    await case.expect_error(await case.service.call("POST", f"{path}/rotate"))
    await case.expect_error(await case.service.call("DELETE", path))


@row("site_on_link_host", "response", details=("host",), resources=ONE_ROUTE)
async def a_site_on_the_link_host(case: Case) -> None:
    host = await with_link_host(case)
    await case.expect_error(await case.add_site(host))
    await case.expect_error(await case.add_site(host))
    assert (await case.put_link_host(f"links.{case.zone}")).status == 202
    assert (await case.add_site(host)).status == 202


@row("limit_reached", "response", resources=ONE_ROUTE, limits={"sites": 1})
async def too_many_sites(case: Case) -> None:
    await case.installed()
    await case.active_site()
    await case.expect_error(await case.add_site(f"www.{case.zone}"))
    await case.expect_error(await case.add_site(f"www.{case.zone}"))
    assert (await call_site(case, "DELETE")).status == 200
    assert (await case.add_site(f"www.{case.zone}")).status == 202


@row("limit_reached", "response", resources=ONE_ROUTE, limits={"links": 1})
async def too_many_links(case: Case) -> None:
    await with_link_host(case)
    link = (await case.add_link(code="one")).body["link"]
    await case.expect_error(await case.add_link(code="two"))
    await case.expect_error(await case.add_link(code="two"))
    assert (await case.service.call("DELETE", f"/v1/links/{link['id']}")).status == 200
    assert (await case.add_link(code="two")).status == 201


@row("link_exists", "response", resources=ONE_ROUTE)
async def a_second_link_with_the_code(case: Case) -> None:
    await with_link_host(case)
    assert (await case.add_link(code="sale")).status == 201
    await case.expect_error(await case.add_link(code="sale"))
    await case.expect_error(await case.add_link(code="sale"))
    assert (await case.add_link(code="sale2")).status == 201


@row("link_host_required", "response")
async def a_link_without_a_host(case: Case) -> None:
    await case.installed()
    await case.expect_error(await case.add_link())
    await case.expect_error(await case.add_link())
    assert (await case.put_link_host(f"go.{case.zone}")).status == 202
    assert (await case.add_link()).status == 201


@row("link_host_is_website", "response", details=("host", "why"))
async def a_link_host_with_a_website(case: Case) -> None:
    await case.installed()
    blog = f"blog.{case.zone}"
    dns = [*proxied_zone(case.zone)["dns"], {"name": "blog", "proxied": True}]
    await case.emulator.set_zone(case.customer.account_id, case.zone, dns=dns)
    await case.expect_error(await case.put_link_host(case.zone))
    await case.expect_error(await case.put_link_host(blog))
    assert (await case.put_link_host(blog, replace_website=True)).status == 202
    assert (await case.put_link_host(case.zone, replace_website=True)).status == 202
    assert (await case.put_link_host(f"go.{case.zone}")).status == 202


@row("link_host_without_certificate", "response", details=("host", "zone"))
async def a_link_host_without_a_certificate(case: Case) -> None:
    await case.installed()
    await case.expect_error(await case.put_link_host(f"go.eu.{case.zone}"))
    await case.expect_error(await case.put_link_host(f"go.eu.{case.zone}"))
    assert (await case.put_link_host(f"go.eu.{case.zone}", has_certificate=True)).status == 202
    assert (await case.put_link_host(f"go.{case.zone}")).status == 202
