/** Der Zeitraum eines Berichts: Auswahl, Intervalle, Vergleich, und was in ihm fehlt. */

/** @type {typeof import("../en/range.js").default} */
const range = {
  label: "Zeitraum, Intervall und Vergleich",
  other: "Anderer Zeitraum",
  periods: {
    yesterday: "Gestern",
    month: "Dieser Monat",
    last_month: "Letzter Monat",
    "12mo": "12 Monate",
    year: "Dieses Jahr",
    all: "Gesamter Zeitraum",
  },
  from: "Von (UTC)",
  to: "Bis (UTC)",
  show: "Anzeigen",
  earlier: "Früher",
  later: "Später",
  by: "Pro",
  steps: { hour: "Stunde", day: "Tag", week: "Woche", month: "Monat" },
  parts: { hour: "Stunde (UTC)", day: "Tag (UTC)", week: "Woche (UTC)", month: "Monat (UTC)" },
  compare: "Vergleich",
  comparisons: { off: "Keiner", previous: "Vorheriger Zeitraum", year: "Ein Jahr zuvor" },
  versus: (part) => `verglichen mit ${part}`,
  problem: "Dieser Zeitraum kann nicht angezeigt werden.",
  fields: { period: "Zeitraum", from: "Von", to: "Bis", by: "Pro", compare: "Vergleich" },
  back: "Die letzten 7 Tage anzeigen",
  missing: {
    not_kept: (days) =>
      `Für ${days} (UTC) gibt es keine Aufschlüsselung, weil der Worker des Kontos sie nicht mehr speichert. Die Summen sind vollständig.`,
    imported: (days) =>
      `Für ${days} (UTC) gibt es keine Aufschlüsselung, weil nur die Summen dieser Tage aus einem anderen Produkt importiert wurden.`,
    not_counted: (days, lists) =>
      `Einige Listen sind für ${days} (UTC) unvollständig: ${lists}. An manchen dieser Tage lief eine ältere Version des Workers.`,
    unavailable: (days) =>
      `Die Aufschlüsselung für ${days} (UTC) konnte nicht geladen werden. Laden Sie die Seite neu, um es erneut zu versuchen.`,
  },
  exportDays: "Alle Tage als CSV exportieren",
  lists: {
    campaigns: "Kampagnen",
    entries: "Einstiegsseiten",
    arrivals: "Einstiegsseiten nach Quelle",
    targets: "Ziele",
  },
  export: "Diesen Bericht als CSV exportieren",
};

export default range;
