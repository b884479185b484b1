import assert from "node:assert/strict";
import { BlockList } from "node:net";
import { test } from "node:test";

import { exclusionsOf, isVisitorExcluded } from "../src/exclusions.js";
import { isInNetworks, parseAddress, parseNetwork } from "../src/networks.js";

/** @param {string} network @param {string} address */
const isIn = (network, address) => {
  const parsed = parseNetwork(network);
  assert.ok(parsed, network);
  return isInNetworks([parsed], address);
};

test("every form of an address has the same words", () => {
  for (const same of ["2001:db8::1", "2001:DB8::1", "2001:0db8:0:0:0:0:0:1", "2001:db8:0:0::1", "2001:db8::0.0.0.1"]) {
    assert.deepEqual(parseAddress(same), [0x20010db8, 0, 0, 1], same);
  }
  assert.deepEqual(parseAddress("::"), [0, 0, 0, 0]);
  assert.deepEqual(parseAddress("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), [-1, -1, -1, -1]);
  assert.deepEqual(parseAddress("::ffff:192.0.2.7"), parseAddress("192.0.2.7"));
  assert.deepEqual(parseAddress("::ffff:c000:207"), parseAddress("192.0.2.7"));
});

test("text that is not an address is in no network", () => {
  const odds = ["", "1", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.-4", "0x1.2.3.4", "1.2.3.4 ", ":", ":::", "1::2::3"];
  odds.push("1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "12345::", "::g", "::1.2.3", "1.2.3.4::", "fe80::1%eth0", "[::1]");
  odds.push("1:2:3:4:5:6:7:8::", "::".repeat(5_000), "1.".repeat(5_000));
  for (const odd of odds) {
    assert.equal(parseAddress(odd), null, odd);
    assert.equal(isIn("0.0.0.0/0", odd) || isIn("::/0", odd), false, odd);
  }
});

test("a network contains its first and last address, and nothing outside", () => {
  for (const [network, first, last, before, after] of /** @type {[string, string, string, string, string][]} */ ([
    ["192.0.2.0/24", "192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"],
    ["192.0.2.7", "192.0.2.7", "192.0.2.7", "192.0.2.6", "192.0.2.8"],
    ["128.0.0.0/1", "128.0.0.0", "255.255.255.255", "127.255.255.255", "::"],
    ["0.0.0.0/0", "0.0.0.0", "255.255.255.255", "::", "::1"],
    ["10.20.30.40/31", "10.20.30.40", "10.20.30.41", "10.20.30.39", "10.20.30.42"],
    ["2001:db8::/64", "2001:db8::", "2001:db8::ffff:ffff:ffff:ffff", "2001:db7:ffff::", "2001:db8:0:1::"],
    ["2001:db8:8000::/33", "2001:db8:8000::", "2001:db8:ffff::", "2001:db8:7fff::", "2001:db9::"],
    ["2001:db8::8/125", "2001:db8::8", "2001:db8::f", "2001:db8::7", "2001:db8::10"],
    ["::/0", "::", "ffff::", "192.0.2.1", "::ffff:192.0.2.1"],
  ])) {
    assert.deepEqual(
      [first, last].map((address) => isIn(network, address)),
      [true, true],
      network,
    );
    assert.deepEqual(
      [before, after].map((address) => isIn(network, address)),
      [false, false],
      network,
    );
  }
});

test("random networks contain the same addresses as node's block list", () => {
  let seed = 20261121;
  const next = (/** @type {number} */ below) => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) % below;
  const word = () => next(0x10000);
  for (let run = 0; run < 2_000; run += 1) {
    const v6 = run % 2 === 1;
    const groups = Array.from({ length: v6 ? 8 : 4 }, () => (v6 ? word() : next(256)));
    const bits = next(v6 ? 129 : 33);
    const text = v6 ? groups.map((group) => group.toString(16)).join(":") : groups.join(".");
    const near = groups.with(next(groups.length), v6 ? word() : next(256));
    const address = v6 ? near.map((group) => group.toString(16)).join(":") : near.join(".");
    const list = new BlockList();
    list.addSubnet(text, bits, v6 ? "ipv6" : "ipv4");
    assert.equal(
      isIn(`${text}/${bits}`, address),
      list.check(address, v6 ? "ipv6" : "ipv4"),
      `${text}/${bits} ${address}`,
    );
  }
});

test("a visitor is excluded by address, country or autonomous system", () => {
  assert.equal(exclusionsOf({ target: "site_a", script: "k3f", excluded_paths: ["/admin"] }), null);
  const site = exclusionsOf({
    target: "site_a",
    script: "k3f",
    excluded_networks: ["192.0.2.0/24", "2001:db8::/64", "unknown form of a later service"],
    excluded_countries: ["FR"],
    excluded_asns: [64496],
  });
  assert.ok(site);
  const visit = (/** @type {string} */ ip, cf = {}, country = "DE", headers = {}) =>
    isVisitorExcluded(
      site,
      /** @type {any} */ ({ headers: new Headers({ "cf-connecting-ip": ip, ...headers }), cf }),
      country,
    );
  assert.equal(visit("192.0.2.9"), true);
  assert.equal(visit("2001:db8::9"), true);
  assert.equal(visit("198.51.100.1"), false);
  assert.equal(visit("198.51.100.1", { asn: 64496 }), true);
  assert.equal(visit("198.51.100.1", { asn: "64496" }), false);
  assert.equal(visit("198.51.100.1", { asn: 64497 }), false);
  assert.equal(visit("198.51.100.1", undefined, "FR"), true);
  assert.equal(visit("240.1.2.3", {}, "DE", { "cf-connecting-ipv6": "2001:db8::9" }), true);
});
