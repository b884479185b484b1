import { number, plural } from "../../format.js";

/** @param {number} count @returns {string} */
const days = (count) => plural(count, { one: "1 Tag", other: `${number(count)} Tage` });

/** @type {import("../../words.js").Words["importTotals"]} */
export default {
  title: "Frühere Zahlen importieren",
  explain:
    "Übernehmen Sie die Tageswerte, die ein anderes Produkt zuvor gezählt hat, aus dessen Export oder aus einer Tabelle mit den Spalten „day“ und „views“.",
  file: "Exportierte Datei",
  fileHint: "CSV, JSON, ZIP oder gzip. Importiert werden nur Tage vor dem Hinzufügen der Website oder des Links.",
  several: "Enthält die Datei mehrere Umami-Websites?",
  website: "Website-ID",
  websiteHint: "Die ID der Website, die importiert werden soll, aus der Spalte website_id.",
  check: "Datei prüfen",
  checkCloudflare: "Cloudflare Web Analytics prüfen",
  product: (product) => `Format: ${product}`,
  added: (count, period, views) => `${days(count)} zu importieren (${period}) mit ${views} Aufrufen`,
  nothing: "Keine neuen Tage zu importieren",
  unchanged: (count) => `${days(count)} bereits importiert`,
  different: (count) => `${days(count)} bereits mit anderen Zahlen importiert`,
  countedHere: (count) => `${days(count)} übersprungen, weil dieser Dienst dafür schon eigene Zahlen hat`,
  rejected: (count) =>
    plural(count, {
      one: "1 Zeile kann nicht importiert werden:",
      other: `${number(count)} Zeilen können nicht importiert werden:`,
    }),
  line: (line) => `Zeile ${line}:`,
  lists: (months) =>
    `Auch die Listen der Seiten, Quellen, Länder und Geräte importieren (${plural(months, { one: "1 Monat", other: `${number(months)} Monate` })})`,
  replace: "Tage überschreiben, deren Zahlen abweichen",
  submit: (count) => (count > 0 ? `${days(count)} importieren` : "Listen importieren"),
  done: (count) => (count > 0 ? `${days(count)} importiert.` : "Listen importiert."),
};
