/** Websites: Liste, Formular, Einstellungen, Snippet und Einrichtung. */

/** @type {typeof import("../en/sites.js").default} */
const sites = {
  title: "Websites",
  site: "Website",
  account: "Konto",
  state: "Status",
  viewsOf: (days) => `Aufrufe, ${days}`,
  days7: (days) => `Aufrufe pro Tag, die letzten sieben Tage (UTC): ${days}`,
  noViewYet: "Noch kein Aufruf",
  search: "Websites suchen",
  order: "Sortieren nach",
  orders: { newest: "Neueste", oldest: "Älteste", host: "Host" },
  which: "Anzeigen",
  whiches: { active: "Aktive", deleted: "Gelöschte" },
  empty:
    "Noch keine Websites. Fügen Sie eine hinzu, und setzen Sie ihr Snippet in Ihre Seiten ein. Die Aufrufe erscheinen dann hier.",
  emptyAccount: "Verbinden Sie zuerst ein Konto, um eine Website hinzuzufügen.",
  notFound: (q) => `Keine Websites zu „${q}“ gefunden.`,
  showDeleted: "Gelöschte Websites anzeigen",
  showAll: "Alle Websites anzeigen",
  noneDeleted: "Keine gelöschten Websites.",
  host: "Host",
  hostHint:
    "So, wie Besucher ihn eingeben, etwa example.com oder blog.example.com. Falls Zone oder DNS-Eintrag noch nicht bereit sind, erfahren Sie nach dem Hinzufügen, was zu tun ist.",
  zones: "Zonen Ihrer Konten",
  zonesCut: "Nicht alle Zonen des Kontos sind aufgeführt. Sie können einen Host in jeder Zone eingeben.",
  more: "Ausnahmen",
  excluded: "Ausgenommene Pfade",
  excludedHint:
    "Einer pro Zeile, höchstens 50, zum Beispiel /admin. Seiten, deren Pfad mit einem davon beginnt, werden nicht gezählt.",
  networks: "Ausgenommene Adressen und Netze",
  networksHint:
    "Eine pro Zeile, höchstens 20, zum Beispiel 192.0.2.7 oder 2001:db8::/64. Aufrufe von dort werden nicht gezählt.",
  excludeMine: "Meine Adresse ausnehmen",
  addressAdded: (address) =>
    `${address} wurde hinzugefügt. Das ist die Adresse, die der Dienst sieht. Ihr Internetanbieter kann Ihnen später eine ` +
    "andere zuweisen.",
  networkAdded: (network) =>
    `${network} wurde hinzugefügt. Geräte wechseln ihre IPv6-Adresse häufig, deshalb ist das gesamte Netz Ihres ` +
    "Anschlusses ausgenommen. Wenn Ihr Anschluss auch IPv4 verwendet, fügen Sie auch die IPv4-Adresse hinzu.",
  addressUnknown: (address) =>
    `Ihre öffentliche Adresse wurde nicht erkannt: Der Dienst sieht ${address || "keine Adresse"}. Geben Sie Ihre ` +
    "öffentliche Adresse ein.",
  countries: "Ausgenommene Länder",
  noCountries: "Keine",
  moreCountries: (count) => `${count} weitere`,
  asns: "Ausgenommene autonome Systeme (ASN)",
  asnsHint:
    "AS-Nummern der Netze von Providern und Unternehmen, durch Kommas getrennt, höchstens 20. Beispiel: AS64496.",
  gpc: "Global Privacy Control und Do Not Track beachten",
  optOut: {
    offer: "Besuchern eine Seite anbieten, auf der sie die Zählung ausschalten können",
    title: "Opt-out-Seite",
    explain:
      "Auf dieser Seite können Besucher die Zählung für ihren Browser aus- und wieder einschalten. Ein Cookie wird nur in Browsern gespeichert, in denen die Zählung ausgeschaltet ist.",
    copyAddress: "Adresse kopieren",
    privacy: "Text für Ihre Datenschutzerklärung",
    privacyText: (address) =>
      "Wir zählen die Besuche dieser Website. Dafür verwenden wir keine Cookies und speichern Ihre IP-Adresse nicht. Wenn " +
      `Ihre Besuche nicht gezählt werden sollen, können Sie die Zählung für Ihren Browser ausschalten: ${address}. Ihr ` +
      "Browser speichert diese Entscheidung dann 400 Tage lang in einem Cookie.",
    copyText: "Text kopieren",
    rotate:
      "Die Opt-out-Seite erhält eine neue Adresse. Besucher, die die Zählung ausgeschaltet haben, werden wieder gezählt, bis sie die Zählung auf der neuen Seite erneut ausschalten.",
  },
  save: "Speichern",
  saved: "Gespeichert.",
  savedPending: "Gespeichert. Die Änderung wird in wenigen Sekunden wirksam.",
  snippet: "Snippet",
  snippetHint: "Fügen Sie das Snippet in den <head> jeder Seite ein.",
  forms: { inline: "Inline", script_tag: "Script-Tag" },
  formHints: {
    inline: "Lädt keine weitere Datei. Der Aufruf wird gesendet, sobald die Seite angezeigt wird.",
    script_tag: "Lädt denselben Code von Ihrem eigenen Host und hält Ihre Seiten klein.",
  },
  copySnippet: "Snippet kopieren",
  policy: "Hat Ihre Website eine Content-Security-Policy?",
  policyHint: "Erlauben Sie das Snippet, indem Sie Ihre Policy ergänzen:",
  copyPolicy: "Zeile kopieren",
  setup: "Warten auf den ersten Aufruf",
  steps: {
    route: "Route angelegt",
    config: "Website an den Worker übertragen",
    view: "Erster Aufruf eingegangen",
  },
  waiting: "ausstehend",
  viewHint:
    "Öffnen Sie eine Seite der Website in einem Browser. Der Aufruf erscheint hier innerhalb von 30 Sekunden. Die Summen werden stündlich aktualisiert.",
  seenLive: "Ihr erster Aufruf!",
  seenText: "Die Aufrufe werden jetzt gezählt. Der Bericht unten ist live.",
  seenView: (country, page, browser) =>
    `Gerade hat jemand ${page} in ${browser} geöffnet. Land: ${country}. Der Bericht unten ist live.`,
  onlyBots: "Bisher kamen nur Bots. Deren Besuche zählen nicht als Aufrufe.",
  look: "Jetzt prüfen",
  advice: {
    title: "Nach fünf Minuten noch kein Aufruf? Häufige Ursachen:",
    items: [
      "Das Snippet fehlt, oder ein Cache liefert die Seite noch ohne Snippet aus.",
      "Eine Content-Security-Policy blockiert das Snippet. Das zeigt die Konsole des Browsers.",
      "Der DNS-Eintrag des Hosts läuft nicht über den Proxy. Cloudflare sieht die Besucher dann nicht.",
      "Die Seite liegt unter einem ausgenommenen Pfad.",
      "Ihr eigener Browser blockiert Analysedienste oder widerspricht der Zählung. Versuchen Sie es mit einem anderen.",
    ],
  },
  rotate: "Zählpfad wechseln",
  rotateWhy: "Sinnvoll, wenn jemand gefälschte Aufrufe an den Pfad sendet oder ein Werbeblocker ihn sperrt.",
  rotateTitle: (host) => `Zählpfad von ${host} wechseln?`,
  rotateWhat:
    "Sie erhalten einen neuen Pfad und ein neues Snippet. Setzen Sie das neue Snippet in Ihre Seiten ein. Aufrufe mit dem alten Snippet werden noch einige Wochen gezählt. Bis wann genau, steht nach dem Wechsel auf dieser Seite.",
  retiring: "Alte Pfade, auf denen Aufrufe noch gezählt werden",
  until: (day) => `bis ${day}`,
  remove: "Website löschen",
  removeWhy: "Die Zählung endet sofort. Der Bericht bleibt erhalten.",
  removeTitle: (host) => `${host} löschen?`,
  removeWhat:
    "Die Zählung endet, und die Routen der Website werden entfernt. Summen und Bericht bleiben erhalten. Das Snippet können Sie jederzeit aus Ihren Seiten entfernen.",
  report: "Bericht",
};

export default sites;
