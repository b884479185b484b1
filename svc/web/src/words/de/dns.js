/** Warnungen zur Zone und zum DNS-Eintrag eines Hosts. */

/** @type {typeof import("../en/dns.js").default} */
export default {
  short: { zone_not_active: "Zone nicht aktiv", dns_not_proxied: "DNS ohne Proxy" },
  status: (zone, status) => `Zone ${zone}, Status: ${status}`,
  clears: "Wird stündlich geprüft. Mit „Jetzt prüfen“ auf der Seite des Kontos prüfen Sie sofort.",
  record: "Der Host braucht diesen DNS-Eintrag:",
  columns: { type: "Typ", name: "Name", content: "Inhalt", proxy: "Proxy" },
  anyType: "A, AAAA oder CNAME",
  server: "die Adresse Ihres Webservers",
  proxied: "Proxied",
};
