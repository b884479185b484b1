/** Websites, ihr Snippet und ihre Einstellungen. */

/** @type {typeof import("../en/sites.js").default} */
const sites = {
  title: "Websites",
  add: "Website hinzufügen",
  settings: "Einstellungen",
  site: "Website",
  account: "Konto",
  state: "Zustand",
  week: "7 Tage (UTC)",
  views7d: "Aufrufe in 7 Tagen",
  days7: (days) => `Aufrufe pro Tag, die letzten sieben (UTC): ${days}`,
  noViewYet: "Noch kein Aufruf",
  search: "Hosts durchsuchen",
  order: "Reihenfolge",
  orders: { newest: "Neueste zuerst", oldest: "Älteste zuerst", host: "Nach Host" },
  which: "Welche",
  whiches: { active: "Gezählte", deleted: "Gelöschte" },
  empty:
    "Noch wird keine Website gezählt. Fügen Sie eine hinzu und setzen Sie das Snippet in ihre Seiten; dann stehen hier die Aufrufe.",
  emptyAccount: "Eine Website gehört zu einem verbundenen Konto.",
  notFound: (q) => `Keine Website hat „${q}“ in ihrem Host.`,
  noneDeleted: "Es wurde keine Website gelöscht.",
  host: "Host",
  hostHint:
    "Wie Besucher ihn eintippen: example.com oder blog.example.com. Sind sein DNS-Eintrag oder seine Zone noch nicht bereit, zeigt die Website, was noch zu tun ist.",
  zonesCut: "Das Konto hat mehr Zonen, als hier vorgeschlagen werden; eintippen lässt sich jede.",
  more: "Was nicht gezählt wird",
  excluded: "Ausgenommene Pfade",
  excludedHint: "Einer pro Zeile, höchstens 50. Seiten, deren Pfad so beginnt, werden nicht gezählt: /admin",
  gpc: "Besucher nicht zählen, deren Browser darum bittet (Sec-GPC, DNT)",
  save: "Speichern",
  saved: "Gespeichert.",
  savedPending: "Gespeichert; gleich weiß es auch der Worker.",
  snippet: "Snippet",
  snippetHint: "Eines von beiden gehört in den Kopf jeder Seite.",
  forms: { inline: "In der Seite", script_tag: "Script-Tag" },
  formHints: {
    inline: "Es wird nichts nachgeladen: Ein Aufruf wird gesendet, sobald die Seite zu sehen ist.",
    script_tag: "Lädt denselben Code von Ihrem eigenen Host; Ihre Seiten bleiben so kurz, wie sie sind.",
  },
  copySnippet: "Snippet kopieren",
  policy: "Sendet Ihre Website eine Content-Security-Policy?",
  policyHint: "Dann muss sie das Snippet erlauben. Ergänzen Sie darin:",
  copyPolicy: "Zeile kopieren",
  setup: "In drei Schritten zum ersten Aufruf",
  steps: {
    route: "Route eingerichtet",
    config: "Worker kennt die Website",
    view: "Erster Aufruf gesehen",
  },
  waiting: "noch nicht",
  viewHint:
    "Öffnen Sie eine Seite der Website im Browser. Hier steht es binnen einer halben Minute; die Zahlen kommen stündlich.",
  seenLive: "Der erste Aufruf wurde gesehen. Seine Zahl kommt mit dem Ende der Stunde.",
  onlyBots: "Es gab Besuche, aber von Programmen: Keiner davon zählt als Aufruf.",
  look: "Jetzt nachsehen",
  advice: {
    title: "Seit fünf Minuten nichts? Meist liegt es an einem davon:",
    items: [
      "Das Snippet fehlt auf der Seite, oder ein Cache hat noch eine ältere Fassung von ihr.",
      "Eine Content-Security-Policy blockiert es: Die Konsole des Browsers sagt es.",
      "Der DNS-Eintrag des Hosts läuft nicht über Cloudflare: Dann sieht Cloudflare seine Besucher nicht.",
      "Die Seite liegt unter einem ausgenommenen Pfad.",
      "Ihr eigener Browser blockiert Zähler oder bittet, nicht gezählt zu werden: Versuchen Sie es mit einem anderen.",
    ],
  },
  deletedNote: "Diese Website wird nicht mehr gezählt. Was gezählt wurde, bleibt.",
  openSite: "Website öffnen",
  rotate: "Pfad wechseln",
  rotateWhy:
    "Wenn jemand erfundene Aufrufe an den Pfad sendet oder eine Filterliste ihn kennt, geben Sie der Website einen neuen.",
  rotateTitle: (host) => `${host} einen neuen Pfad und ein neues Snippet geben?`,
  rotateWhat:
    "Setzen Sie danach das neue Snippet in Ihre Seiten. Seiten mit dem alten werden noch einige Wochen gezählt; bis wann, steht dann hier.",
  retiring: "Alte Pfade, die noch gezählt werden",
  until: (day) => `bis ${day}`,
  remove: "Website löschen",
  removeWhy: "Das Zählen endet sofort. Was gezählt wurde, bleibt, mit seinem Bericht.",
  removeTitle: (host) => `${host} löschen?`,
  removeWhat:
    "Ihre Routen werden entfernt, und nichts wird mehr gezählt. Summen und Bericht bleiben. Das Snippet in Ihren Seiten tut von da an nichts; nehmen Sie es heraus, wann Sie mögen.",
  report: "Bericht",
  firstNine: "die erste Ihrer Websites; so weiter bis 9",
};

export default sites;
