/** Warnings about the zone and DNS record of a host. */

export default {
  /** @type {Record<string, string>} by the code of a site's warning */
  short: { zone_not_active: "Zone not active", dns_not_proxied: "DNS not proxied" },
  status: (/** @type {string} */ zone, /** @type {string} */ status) => `Zone ${zone}, status: ${status}`,
  clears: "The service checks this every hour. To check immediately, use “Check now” on the account's page.",
  record: "The host needs this DNS record:",
  columns: { type: "Type", name: "Name", content: "Content", proxy: "Proxy" },
  anyType: "A, AAAA or CNAME",
  server: "the address of your web server",
  proxied: "Proxied",
};
