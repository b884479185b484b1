/** Berichte von Websites und Links. */

/** @type {typeof import("../en/report.js").default} */
const report = {
  title: "Bericht",
  period: "Zeitraum",
  periods: { today: "Heute", "7d": "7 Tage", "30d": "30 Tage" },
  views: "Aufrufe",
  clicks: "Klicks",
  visitors: "Besucher",
  bots: "Bots",
  botsRemoved: "Bots gefiltert",
  ofRequests: (bots, all) => `${bots} von ${all} Anfragen`,
  totals: "Summen",
  change: {
    none: "kein Vergleich",
    up: (part, before) => `${part} mehr als zuvor (${before})`,
    down: (part, before) => `${part} weniger als zuvor (${before})`,
    same: (_part, before) => `unverändert (${before})`,
  },
  onDay: (count, day) => `${day}: ${count}`,
  comparedWith: (days) => `Verglichen mit ${days}.`,
  inProgress: "Der heutige Tag läuft noch.",
  per: (kind, by) =>
    `${kind === "site" ? "Aufrufe" : "Klicks"} und Besucher pro ${{ hour: "Stunde", day: "Tag", week: "Woche", month: "Monat" }[by]} (UTC)`,
  week: (week) => `KW ${week}`,
  compare: "Vergleich",
  comparisons: { previous: "Vorheriger Zeitraum", year: "Ein Jahr zuvor" },
  incomplete:
    "Im Diagramm fehlen einige Stunden, weil das kostenlose Tageskontingent des Kontos an Datenbankzeilen größtenteils aufgebraucht war. Die Summen stimmen.",
  countedUpTo: (when) => `Stand: ${when}`,
  notCounted: "Noch nichts gezählt",
  perDay: "jeder Besucher zählt einmal pro Tag",
  midnight: (local) => `Tage enden um Mitternacht UTC${local && ` (${local} Ihrer Zeit)`}`,
  nothing: { site: "Keine Aufrufe in diesem Zeitraum.", link: "Keine Klicks in diesem Zeitraum." },
  chart: "Zeitverlauf",
  most: (count, when) => `Höchstwert: ${count}, ${when}.`,
  none: "Keine Daten.",
  chartRole: "Diagramm",
  soFar: "bisher",
  notKnown: "keine Daten",
  estimated: "Schätzung",
  withBots: "Bots",
  asTable: "Als Tabelle anzeigen",
  lists: "Aufschlüsselung",
  unavailable: {
    not_installed: "Der Worker ist nicht mehr installiert; nur die Summen sind verfügbar.",
    cloudflare: "Cloudflare hat nicht rechtzeitig geantwortet.",
    rate_limited: "In dieser Minute wurden zu viele Berichte geöffnet.",
  },
  withoutToday: "Der heutige Tag fehlt, weil die Live-Zahlen nicht geladen werden konnten. Der Grund steht unten.",
};

export default report;
