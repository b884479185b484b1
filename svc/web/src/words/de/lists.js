/** Die Listen eines Berichts. */

/** @type {typeof import("../en/lists.js").default} */
const lists = {
  pages: "Seiten",
  entries: "Einstiegsseiten",
  campaigns: "Kampagnen",
  targets: "Klicks nach Ziel",
  sources: "Quellen",
  countries: "Länder",
  devices: "Geräte",
  browsers: "Browser",
  os: "Betriebssysteme",
  showAll: "Alle anzeigen",
  showFewer: "Weniger anzeigen",
  others: "Andere",
  empty: "Noch keine Daten",
  direct: "Direkt oder ohne Angabe",
  internal: "Intern",
  qr: "QR-Code",
  unknownCountry: "Unbekannt",
  deviceNames: { desktop: "Desktop", mobile: "Handy", tablet: "Tablet" },
  botsHint: "Oben nicht enthalten.",
  reasons: {
    head: ["HEAD-Anfrage", "Linkprüfer, die die Seite nicht laden"],
    empty: ["Ohne User-Agent", "Ein Programm, das sich nicht zu erkennen gibt"],
    prefetch: ["Vorab geladen", "Vielleicht nie geöffnet"],
    webdriver: ["Automatisierter Browser", "Von einem Programm gesteuert (WebDriver)"],
    headless: ["Headless-Browser", "Läuft ohne Bildschirm"],
    preview: ["Linkvorschau", "Von einem Chat oder sozialen Netzwerk erstellt"],
    list: ["Bekannter Bot", "Suchmaschinen, Monitoring und Skripte"],
  },
  bots: "Bots",
  channels: "Kanäle",
  channelNames: {
    search: "Suchmaschinen",
    social: "Soziale Netzwerke",
    ai: "KI-Assistenten",
    email: "E-Mail",
    campaign: "Kampagnen",
    referral: "Andere Websites",
    direct: "Direkt oder ohne Angabe",
    qr: "QR-Code",
    internal: "Intern",
  },
};

export default lists;
