/** Texte über einen einzelnen Link, auf mehreren Seiten verwendet. */

import { plural } from "../../format.js";

/** @type {typeof import("../en/link.js").default} */
const link = {
  one: "Link",
  add: "Neuer Link",
  import: "Links importieren",
  showDeleted: "Gelöschte Links anzeigen",
  change: "Bearbeiten",
  remove: "Löschen",
  andRules: (count) => plural(count, { one: "+ # Regel", other: "+ # Regeln" }),
  live: "Live",
  pending: "Wird übertragen",
  held: "Nicht übertragen",
  broken: "Ziel nicht erreichbar",
  scheduled: "Noch nicht aktiv",
  ended: "Beendet",
  qr: "QR-Code",
  copyKey: "Kurzlink kopieren",
  qrKey: "QR-Code anzeigen",
  editKey: "bearbeiten",
  clickFlight: "Einzelne Cloudflare-Standorte liefern noch bis zu einer Minute lang die vorige Fassung des Links aus.",
  target: "Ziel",
  made: (ago) => `Erstellt ${ago}`,
};

export default link;
