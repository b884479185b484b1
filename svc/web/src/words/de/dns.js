/** Was dem Namen einer Website oder der Kurzlinks bei Cloudflare fehlt. */

/** @type {typeof import("../en/dns.js").default} */
export default {
  short: { zone_not_active: "Zone nicht aktiv", dns_not_proxied: "DNS ohne Proxy" },
  status: (zone, status) => `Zone ${zone}, Status: ${status}`,
  clears: "Wird stündlich geprüft; „Jetzt prüfen“ auf der Seite des Kontos prüft sofort.",
  record: "Der DNS-Eintrag, den der Name braucht:",
  columns: { type: "Typ", name: "Name", content: "Inhalt", proxy: "Proxy" },
  anyType: "A, AAAA oder CNAME",
  server: "die Adresse Ihres Webservers",
  proxied: "Proxied",
};
