/** What the host of a site or of short links lacks at Cloudflare. */

export default {
  /** @type {Record<string, string>} by the code of a site's warning */
  short: { zone_not_active: "Zone not active", dns_not_proxied: "DNS not proxied" },
  status: (/** @type {string} */ zone, /** @type {string} */ status) => `Zone ${zone}, status: ${status}`,
  clears: "Checked every hour; “Check now” on the account's page checks immediately.",
  record: "The DNS record that the host needs:",
  columns: { type: "Type", name: "Name", content: "Content", proxy: "Proxy" },
  anyType: "A, AAAA or CNAME",
  server: "the address of your web server",
  proxied: "Proxied",
};
