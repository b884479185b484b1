/** Liste der Konten, Formular zum Verbinden und Seite eines Kontos. */

import { list, longDay, number, plural } from "../../format.js";

/** @type {typeof import("../en/account.js").default} */
const account = {
  one: "Konto",
  empty:
    "Noch ist kein Konto verbunden. Beim Verbinden werden in Ihrem Cloudflare-Konto ein Worker, eine Datenbank und ein Cron-Trigger eingerichtet, sonst nichts.",
  columns: { account: "Konto", state: "Status", use: "Auslastung", report: "Letzter Bericht" },
  noReport: "Noch keiner",
  notKnown: "Noch nicht verfügbar",
  levels: {
    ok: "Im Rahmen",
    watch: "Nähert sich dem Limit",
    upgrade_soon: "Upgrade bald nötig",
    over: "Über dem Limit",
  },

  token: {
    title: "Bootstrap-Token erstellen",
    intro:
      "Im Cloudflare-Formular für dieses Konto sind diese Berechtigungen schon eingetragen. Legen Sie das Ablaufdatum fest. Falls im Formular eine Berechtigung fehlt, ergänzen Sie sie.",
    anyIntro:
      "Im Cloudflare-Formular sind diese Berechtigungen schon eingetragen. Wählen Sie das Konto aus, und legen Sie das Ablaufdatum fest. Falls im Formular eine Berechtigung fehlt, ergänzen Sie sie.",
    open: "Formular von Cloudflare öffnen",
    ends: "Ablaufdatum: morgen",
    missing: "fehlt",
    who: "Dafür müssen Sie Super Administrator oder Administrator des Kontos sein oder die Rolle API Token Provisioning haben.",
    label: "Bootstrap-Token",
    hint: "Wird einmal verwendet und dann bei Cloudflare gelöscht. Dieser Dienst speichert es nie.",
    kinds: {
      "": "",
      user: "Das ist ein Benutzer-Token (cfut_…). Erstellen Sie stattdessen ein Konto-Token (cfat_…).",
      global:
        "Das ist der Global API Key, den dieser Dienst nicht verwendet. Erstellen Sie stattdessen ein Konto-Token (cfat_…).",
    },
  },
  wizard: {
    intro: "Drei Schritte. Die Installation dauert einige Sekunden.",
    account: "Konto auswählen",
    id: "Konto-ID",
    dashboard: "Cloudflare-Dashboard öffnen",
    idHint: "32 Zeichen. Sie können auch die URL einer beliebigen Seite des Kontos im Cloudflare-Dashboard einfügen.",
    nameHint: "Der Name des Kontos in diesem Dienst. Bleibt das Feld leer, gilt der Name bei Cloudflare.",
    location: "Standort der Datenbank",
    locationHint:
      "Wählen Sie eine Region nahe bei Ihren Besuchern. „Automatisch“ wählt eine in der Nähe dieses Dienstes. Die Region lässt sich später nicht ändern.",
    paste: "Token einfügen",
    submit: "Verbinden",
    asking: "Wird bei Cloudflare geprüft…",
    settling:
      "Cloudflare akzeptiert das Token noch nicht. Bei neuen Tokens kann das einige Sekunden dauern; der Dienst versucht es weiter.",
    creating: "Cloudflare hat das Token akzeptiert. Der Dienst erstellt jetzt ein eigenes Token für dieses Konto.",
    goOn: "Weiter",
    kept: "Ihre Eingaben sind noch da. „Weiter“ sendet dieselbe Anfrage erneut.",
    toAccount: "Konto öffnen",
    toProfile: "Limits ansehen",
    stillValid:
      "Das Bootstrap-Token ist noch gültig. Verwenden Sie es für den nächsten Versuch, oder löschen Sie es im Cloudflare-Dashboard unter Manage Account → Account API Tokens.",
  },
  locations: {
    "": "Automatisch",
    wnam: "Westliches Nordamerika",
    enam: "Östliches Nordamerika",
    weur: "Westeuropa",
    eeur: "Osteuropa",
    apac: "Asien-Pazifik",
    oc: "Ozeanien",
    eu: "Nur Europäische Union",
    fedramp: "FedRAMP",
  },

  details: "Details",
  summary: {
    reported: (ago) => `Letzter Bericht ${ago}`,
    neverReported: "Noch kein Bericht",
    sites: (count, more) =>
      more ? `über ${number(count)} Websites` : plural(count, { one: "# Website", other: "# Websites" }),
    links: (count, more) => (more ? `über ${number(count)} Links` : plural(count, { one: "# Link", other: "# Links" })),
  },
  menu: {
    label: "Weitere Aktionen",
    rename: "Umbenennen",
    renew: "Token erneuern",
    install: "Neu installieren",
    disconnect: "Trennen",
    again: "Neu verbinden",
  },
  rename: { name: "Name", submit: "Umbenennen" },
  renew: {
    title: (name) => `Token von ${name} erneuern`,
    explain:
      "Der Dienst erstellt ein neues Arbeits-Token für dieses Konto und löscht das alte. Der Worker läuft weiter.",
    submit: "Erneuern",
  },
  progress: {
    connect: "Konto wird verbunden",
    renew: "Token wird erneuert",
    install: "Worker wird installiert",
    update: "Worker wird aktualisiert",
    disconnect: "Konto wird getrennt",
    awaitsReport: "Der erste Bericht des Workers steht noch aus",
    steps: {
      token: "Token",
      database: "Datenbank",
      script: "Worker",
      cron: "Cron-Trigger",
      selfcheck: "Erster Bericht",
      routes: "Routen",
    },
    leave: "Sie können diese Seite verlassen. Der Vorgang läuft im Hintergrund weiter.",
    ready: "Alles ist installiert. Bis zum ersten Bericht des Workers kann es 15 Minuten dauern.",
    waits: "Cloudflare antwortet nicht mehr. Verbinden Sie das Konto innerhalb einer Stunde erneut, um fortzufahren.",
    changed: (ago) => `Letzter Schritt ${ago}.`,
    slow: "Cloudflare antwortet langsam. Der Dienst versucht es weiter.",
    failed: {
      connect: "Verbinden fehlgeschlagen",
      renew: "Erneuern des Tokens fehlgeschlagen",
      install: "Installation fehlgeschlagen",
      update: "Die Aktualisierung ist fehlgeschlagen. Der bisherige Worker läuft weiter.",
      disconnect: "Trennen fehlgeschlagen",
    },
  },
  revoke: {
    title: "Löschen Sie diese Tokens im Cloudflare-Dashboard, falls es sie noch gibt:",
    open: "Liste der Tokens öffnen",
  },
  warnings: {
    bootstrap_not_deleted:
      "Das Bootstrap-Token ist möglicherweise noch gültig. Löschen Sie es im Cloudflare-Dashboard, oder lassen Sie es ablaufen.",
    orphan_not_deleted:
      "Ein Token aus einem früheren Versuch ist möglicherweise noch gültig. Löschen Sie es im Cloudflare-Dashboard. Es wird auch gelöscht, wenn Sie hier das Arbeits-Token erneuern.",
    old_token_not_deleted:
      "Das bisherige Token ist möglicherweise noch gültig. Löschen Sie es im Cloudflare-Dashboard.",
    token_expires_soon: "Das Arbeits-Token läuft innerhalb von 14 Tagen ab. Erneuern Sie es.",
    not_confirmed:
      "Der Worker hat sich seit der Installation nicht gemeldet. Cloudflare braucht bis zu 15 Minuten, um einen neuen Cron-Trigger zu starten.",
    crons_stopped:
      "Der Worker zählt, aber sein Cron-Trigger wurde seit zwei Stunden nicht ausgelöst. Installieren Sie den Worker neu.",
    daily_limit:
      "Das heutige kostenlose Kontingent an Datenbankzeilen ist aufgebraucht. Neue Änderungen an Websites und Links werden nach Mitternacht UTC wirksam.",
  },

  plan: {
    title: "Auslastung",
    intro:
      "Anfragen und Zeilen: die letzten sieben vollen Tage (UTC), für das gesamte Cloudflare-Konto. Datenbank: die aktuelle Größe der Datenbank des Workers.",
    none: "Ab dem Tag nach dem Verbinden verfügbar.",
    of: (value, limit) => `${value} von ${limit}`,
    metrics: {
      requests: "Anfragen pro Tag",
      writes: "Geschriebene Zeilen pro Tag",
      reads: "Gelesene Zeilen pro Tag",
      size: "Datenbank",
    },
    busiest: (day) => `Stärkster Tag: ${longDay(day)}`,
    idle: "Keine Nutzung.",
    forecast: (day) => `Bei gleichbleibender Nutzung ist das Limit am ${longDay(day)} erreicht.`,
    unavailable: "Cloudflare hat diesen Wert nicht gemeldet.",
    shorter_hourly_retention:
      "Nur die Datenbank ist nahe am Limit oder darüber. Sie wird kleiner, wenn Sie Aufschlüsselungen kürzer aufbewahren.",
    shorter_month_retention:
      "Nur die Datenbank ist nahe am Limit oder darüber. Sie wird kleiner, wenn Sie Aufschlüsselungen für weniger Monate aufbewahren.",
    keepFewer: {
      shorter_hourly_retention: "Kürzer aufbewahren",
      shorter_month_retention: "Weniger Monate aufbewahren",
    },
    choose: "Cloudflare-Tarif",
    chooseHint:
      "Cloudflare nennt dem Dienst Ihren Tarif nicht. Wählen Sie ihn hier aus. Wählen Sie Paid nur, wenn das Konto einen kostenpflichtigen Workers-Tarif hat. Sonst kann der Worker das Tageslimit des kostenlosen Tarifs überschreiten, und Aufrufe gehen verloren.",
    free: "Free",
    paid: "Paid",
    asked: (ago) => `Abgefragt ${ago}.`,
  },

  retention: {
    label: "Aufbewahrung der Aufschlüsselungen",
    kept: (days, months) =>
      `${days} Tage; Monatssummen ${months === "forever" ? "dauerhaft" : `${months} Monate lang`}`,
    change: "Aufbewahrung ändern",
    hint: "Tagessummen bleiben dauerhaft erhalten. Seiten, Quellen, Länder und andere Aufschlüsselungen gibt es nur für diese Anzahl von Tagen, danach als Monatssummen.",
    title: "Aufbewahrung der Aufschlüsselungen ändern",
    explain:
      "Tagessummen bleiben dauerhaft erhalten. Aufschlüsselungen (Seiten, Quellen, Länder …) gibt es nur für diese Anzahl von Tagen, danach als Summen ganzer Monate. Wenn Sie eine Zahl verringern, werden ältere Aufschlüsselungen endgültig gelöscht, und die Datenbank wird in den folgenden Nächten kleiner.",
    days: "Tage",
    range: (least, most) => `${least} bis ${most} Tage.`,
    months: "Monate vor dem laufenden Monat",
    monthsHint: (least) => `Mindestens ${least}. Lassen Sie das Feld leer, um Monatssummen dauerhaft aufzubewahren.`,
    submit: "Speichern",
  },

  host: {
    title: "Link-Host",
    intro: "Alle Kurzlinks dieses Kontos verwenden diesen Host. Er kann nicht gleichzeitig eine Website ausliefern.",
    later: "Sie können ihn festlegen, sobald das Konto bereit ist.",
    label: "Host",
    hint: "Eine unbenutzte Subdomain direkt unter einer Ihrer Zonen.",
    set: "Link-Host festlegen",
    change: "Ändern",
    changeTitle: (host) => `${host} ersetzen?`,
    changeWarning:
      "Alle Kurzlinks ziehen auf den neuen Host um. Kurzlinks und QR-Codes mit dem alten Host funktionieren dann nicht mehr.",
    usage: (clicks, scans) =>
      `Klicks in den letzten 30 Tagen: ${clicks}${scans === null ? "" : ` (davon ${scans} über QR-Codes)`}.`,
    configuration: "Konfiguration",
    state: "Status",
    replace: "Website ersetzen. Ihre Seiten sind nicht erreichbar, solange dieser Host Kurzlinks ausliefert.",
    certificate: "Ich habe ein Zertifikat für diesen Host.",
  },

  redirects: {
    title: "Besucher ohne gültigen Link",
    root: "Aufrufe ohne Code",
    notFound: "Unbekannte Codes und Pfade",
    page: "Kurze Seite „Nicht gefunden“ anzeigen",
    explain:
      "Leiten Sie diese Besucher auf eine Seite Ihrer Website weiter. Bleibt ein Feld leer, sehen sie stattdessen eine kurze Seite.",
    change: "Weiterleitungen ändern",
    submit: "Speichern",
  },

  installed: {
    title: "Installation",
    id: "Cloudflare-Konto",
    worker: "Worker",
    upToDate: "aktuell",
    outdated: "ältere Version, wird automatisch aktualisiert",
    since: "Installiert",
    tables: (schema) => `Schemaversion ${schema}`,
    database: "Datenbank",
    token: "Arbeits-Token",
    tokenEnds: (when) => `läuft am ${when} ab`,
    report: "Letzter Bericht",
    queue: (count) => (count === 0 ? "Warteschlange leer" : `Nachrichten in der Warteschlange: ${number(count)}`),
    dropped: "Nicht gezählt",
  },
  reasons: {
    budget: "wegen des kostenlosen Tageskontingents an Datenbankzeilen",
    invalid: "nicht von unserem Snippet gesendet",
    unknown_target: "unbekannte Website oder unbekannter Link",
    too_old: "kam nach Abschluss des Tages an",
    busy: "Datenbankfehler",
    expired: "zu lange in der Warteschlange",
  },

  check: {
    byItself: "Sie müssen nichts tun. Der Dienst behebt das automatisch.",
    title: "Prüfung",
    intro: "Vergleicht Ihr Cloudflare-Konto mit dem Sollzustand und behebt, was sich gefahrlos beheben lässt.",
    submit: "Jetzt prüfen",
    asking: "Wird geprüft…",
    well: "Alles in Ordnung.",
    expected: "Soll",
    found: "Ist",
    repaired: "behoben",
    open: "erfordert Ihr Eingreifen",
  },

  ledger: {
    title: "Zählnachweis",
    intro:
      "Verfolgt jedes Ereignis eines Tages durch alle Schritte der Zählung. Jeder Schritt hat eine eigene Zählung, sodass ein verlorenes Ereignis als Differenz auffällt.",
    day: "Tag (UTC)",
    show: "Nachweis anzeigen",
    target: "Website oder Link",
    accepted: "Angenommen",
    dropped: "Verworfen",
    waiting: "Wartend",
    counted: "Gezählt",
    pushed: "Gemeldet",
    stored: "Gespeichert",
    agrees: "Stimmt",
    bots: (count) => `Bots: ${number(count)}`,
    yes: "ja",
    all: "Alle Zahlen stimmen überein.",
    open: "Der Tag läuft noch.",
    differs: "Einige Zahlen stimmen nicht überein.",
    nothing: "An diesem Tag wurde nichts gezählt.",
    unavailable: {
      not_installed: "Der Worker ist nicht installiert; es liegen nur die gespeicherten Zahlen vor.",
      cloudflare: "Cloudflare hat nicht geantwortet; es liegen nur die gespeicherten Zahlen vor.",
      rate_limited: "Zu viele Anfragen in dieser Minute; es liegen nur die gespeicherten Zahlen vor.",
      not_kept:
        "Der Worker bewahrt seine Aufzeichnungen 35 Tage auf. Für diesen Tag liegen nur die gespeicherten Zahlen vor.",
      not_counted: "Die Datenbank des Workers wurde erst nach diesem Tag angelegt.",
    },
    faults: {
      counting: "Fehler im Worker",
      unknown_target: "nicht in diesem Konto",
      refused: "eine Meldung wurde abgelehnt",
      push: "Fehler bei der Übertragung",
      store: "Fehler beim Speichern",
      set_back: "die Datenbank wurde auf einen früheren Stand zurückgesetzt",
    },
    offBy: (views, bots) => `Aufrufe: ${views}, Bots: ${bots}`,
    platform: (estimate, least, most) =>
      `Cloudflares eigene Zählung der Anfragen an den Worker: ${number(estimate)} (zwischen ${number(least)} und ${number(most)}). Sie beruht auf Stichproben, ist einige Minuten alt und enthält 1.440 Cron-Läufe pro Tag.`,
    notPlatform: "Cloudflares eigene Zählung dieses Tages ist nicht verfügbar.",
    lost: (parts) => `Nicht gezählt, über alle Websites und Links: ${list(parts)}.`,
  },

  demonstration: {
    title: "Dies ist eine Demonstration",
    text: (host) => `Cloudflare wird hier emuliert. Sie können dieses Konto verbinden, zu dem die Zone ${host} gehört:`,
    token: "Bootstrap-Token",
    fill: "Diese Werte übernehmen",
    name: "Zweites Konto",
    emulatedSite:
      "Diese Website ist emuliert und lässt sich nicht im Browser öffnen. Sie können hier stattdessen eine Seite aufrufen.",
    visit: "Eine Seite aufrufen",
    noForm: "In dieser Demonstration gibt es das Token schon.",
  },
  disconnect: {
    title: (name) => `${name} trennen`,
    explain:
      "Routen, Worker und Datenbank werden aus dem Cloudflare-Konto entfernt. Die Websites und Links des Kontos werden in diesem Dienst gelöscht. Es wird nicht mehr gezählt, und Kurzlinks funktionieren nicht mehr.",
    stays: "Die Berichte bleiben erhalten. Das Trennen dauert bis zu einer Minute.",
    submit: "Trennen",
    asking: "Wird getrennt…",
    done: "Getrennt",
    clean: "Alles, was der Dienst installiert hat, wurde aus dem Cloudflare-Konto entfernt.",
    cleanButToken:
      "Worker, Datenbank und Routen wurden aus dem Cloudflare-Konto entfernt. Nur das Arbeits-Token bleibt, weil es sich nicht selbst löschen kann.",
    kept: "Die Summen und Berichte der Websites und Links bleiben erhalten:",
    left: "Folgendes ließ sich nicht entfernen:",
    back: "Zurück zu den Konten",
  },
};

export default account;
