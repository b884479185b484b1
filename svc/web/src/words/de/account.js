/** Konten und wie eines verbunden wird. */

import { list, longDay, number } from "../../format.js";

/** @type {typeof import("../en/account.js").default} */
const account = {
  one: "Konto",
  empty:
    "Noch ist kein Konto verbunden. In Ihrem Cloudflare-Konto werden ein Worker, eine Datenbank und ein Zeitgeber eingerichtet, sonst nichts.",
  columns: { account: "Konto", state: "Zustand", use: "Auslastung", report: "Letzter Bericht" },
  noReport: "noch keiner",
  notKnown: "noch nicht bekannt",
  levels: { ok: "Genug Luft", watch: "Im Auge behalten", upgrade_soon: "Wird bald eng", over: "Über der Grenze" },
  newTab: "öffnet einen neuen Tab",

  token: {
    title: "Bootstrap-Token erstellen",
    intro:
      "Cloudflares eigenes Formular dafür ist schon ausgefüllt. Falls nicht: Das sind die Rechte; das Konto und das Ende wählen Sie selbst.",
    open: "Cloudflares Formular öffnen",
    ends: "endet morgen",
    missing: "hat gefehlt",
    who: "Das dürfen Super Administrators und Administrators des Kontos und Mitglieder mit der Rolle API Token Provisioning.",
    label: "Bootstrap-Token",
    hint: "Wird nur für diese Anfrage benutzt und dann gelöscht; es wird nie gespeichert.",
    kinds: {
      "": "",
      user: "Das ist das Token eines Benutzers (cfut_…). Gebraucht wird eines des Kontos (cfat_…).",
      global: "Das ist der globale Schlüssel. Er wird hier nie gebraucht: Erstellen Sie ein Token des Kontos (cfat_…).",
    },
  },
  wizard: {
    intro: "Drei Schritte, und ein paar Sekunden für die Einrichtung.",
    account: "Konto angeben",
    id: "Kontokennung",
    idHint: "32 Zeichen, oder die Adresse irgendeiner Seite des Kontos in Cloudflares Dashboard.",
    location: "Wo die Datenbank entsteht",
    locationHint: "Am besten nahe bei Ihren Besuchern. Später lässt es sich nicht ändern.",
    paste: "Token einfügen",
    submit: "Verbinden",
    asking: "Cloudflare wird gefragt…",
    goOn: "Weiter",
    kept: "Ihre Eingaben sind noch da. „Weiter“ sendet dieselbe Anfrage; nichts geschieht doppelt.",
    toAccount: "Zum Konto",
    toProfile: "Ihre Grenzen",
    stillValid:
      "Das Bootstrap-Token gilt noch. Verwenden Sie es für den nächsten Versuch, oder löschen Sie es in Cloudflares Dashboard unter Manage Account, Account API Tokens.",
  },
  locations: {
    "": "Nahe beim Dienst",
    wnam: "Nordamerika, Westen",
    enam: "Nordamerika, Osten",
    weur: "Westeuropa",
    eeur: "Osteuropa",
    apac: "Asien und Pazifik",
    oc: "Ozeanien",
    eu: "Innerhalb der Europäischen Union",
    fedramp: "FedRAMP",
  },

  menu: {
    rename: "Umbenennen",
    renew: "Token erneuern",
    install: "Neu einrichten",
    disconnect: "Trennen",
    again: "Neu verbinden",
  },
  rename: { name: "Name", submit: "Umbenennen" },
  renew: {
    title: (name) => `Token von ${name} erneuern`,
    explain: "Ein neues Arbeits-Token ersetzt das alte, das gelöscht wird. Der Worker läuft ungestört weiter.",
    submit: "Erneuern",
  },
  progress: {
    connect: "Wird verbunden",
    renew: "Das Token wird erneuert",
    install: "Wird eingerichtet",
    update: "Der Worker wird erneuert",
    disconnect: "Wird getrennt",
    steps: {
      token: "Token",
      database: "Datenbank",
      script: "Worker",
      cron: "Zeitgeber",
      selfcheck: "Erster Bericht",
      routes: "Routen",
    },
    leave: "Sie können diese Seite verlassen; es geht von selbst weiter.",
    ready: "Alles läuft. Der erste Bericht des Workers wird innerhalb von 15 Minuten erwartet.",
    waits:
      "Cloudflare hat unterdessen versagt. Wird dieselbe Anfrage binnen einer Stunde noch einmal gesendet, geht es weiter.",
    changed: (ago) => `Letzter Schritt ${ago}.`,
    slow: "Cloudflare ist langsam; es geht von selbst weiter.",
    failed: {
      connect: "Das Verbinden ist gescheitert",
      renew: "Das Erneuern ist gescheitert",
      install: "Die Einrichtung ist gescheitert",
      update: "Der neue Worker ließ sich nicht einrichten; der bisherige läuft weiter",
      disconnect: "Das Trennen ist gescheitert",
    },
  },
  revoke: {
    title: "Diese Tokens löschen Sie bei Cloudflare, falls sie da sind:",
    open: "Liste der Tokens öffnen",
  },
  warnings: {
    bootstrap_not_deleted:
      "Das Bootstrap-Token gilt vielleicht noch. Löschen Sie es bei Cloudflare, oder warten Sie sein Ende ab.",
    orphan_not_deleted:
      "Ein Token eines verlorenen Versuchs gilt vielleicht noch. Löschen Sie es bei Cloudflare; auch eine Erneuerung löscht es.",
    old_token_not_deleted: "Das Token vor der Erneuerung gilt vielleicht noch. Löschen Sie es bei Cloudflare.",
    token_expires_soon: "Das Arbeits-Token endet binnen 14 Tagen. Erneuern Sie es.",
    not_confirmed:
      "Der Worker hat sich seit der Einrichtung nicht gemeldet. Cloudflare braucht bis zu 15 Minuten, um einen neuen Cron-Trigger zu starten.",
    crons_stopped:
      "Der Worker zählt, aber Cloudflare hat seinen Zeitgeber seit zwei Stunden nicht ausgelöst. Richten Sie ihn neu ein.",
    daily_limit:
      "Die freien Datenbankzeilen von heute sind verbraucht. Was seither geändert wurde, bleibt bis Mitternacht UTC unterwegs.",
  },

  plan: {
    title: "Auslastung",
    intro: "In den letzten sieben vollen Tagen (UTC), vom ganzen Cloudflare-Konto.",
    none: "Bekannt wird sie am Tag nach dem Verbinden.",
    of: (value, limit) => `${value} von ${limit}`,
    metrics: {
      requests: "Anfragen am Tag",
      writes: "Geschriebene Zeilen am Tag",
      reads: "Gelesene Zeilen am Tag",
      size: "Datenbank",
    },
    busiest: (day) => `Stärkster Tag: ${longDay(day)}`,
    idle: "Nichts wurde verbraucht.",
    forecast: (day) => `Geht es so weiter, ist die Grenze am ${longDay(day)} erreicht.`,
    unavailable: "Cloudflare hat es nicht gesagt.",
    shorter_hourly_retention:
      "Nur die Datenbank ist nahe an ihrer Grenze oder darüber. Sie wird kleiner, wenn Sie Aufschlüsselungen kürzer aufbewahren.",
    keepFewer: "Kürzer aufbewahren",
    choose: "Tarif bei Cloudflare",
    chooseHint: "Cloudflare verrät ihn nicht.",
    free: "Kostenlos",
    paid: "Bezahlt",
    asked: (ago) => `Abgefragt ${ago}.`,
  },

  days: {
    label: "Tage mit Aufschlüsselung",
    kept: (days) => `${days} Tage`,
    change: "Tage ändern",
    hint: "Tagessummen bleiben dauerhaft. Seiten, Quellen, Länder und andere Aufschlüsselungen gibt es nur für diese Tage.",
    title: "Wie lange Aufschlüsselungen bleiben",
    explain:
      "Tagessummen bleiben dauerhaft. Aufschlüsselungen (Seiten, Quellen, Länder …) gibt es nur für die aufbewahrten Tage. Bei weniger Tagen werden ältere Aufschlüsselungen endgültig gelöscht, und die Datenbank wird in den nächsten Nächten kleiner.",
    range: (least, most) => `${least} bis ${most} Tage.`,
    submit: "Speichern",
  },

  host: {
    title: "Link-Host",
    intro: "Der Name, unter dem alle Kurzlinks dieses Kontos stehen. Anderes kann dort nicht sein.",
    later: "Er lässt sich wählen, sobald das Konto bereit ist.",
    label: "Name",
    hint: "Ein Name, den sonst nichts benutzt, gleich unter einer Ihrer Zonen.",
    set: "Link-Host festlegen",
    change: "Ändern",
    changeTitle: (host) => `Ein anderer Name statt ${host}`,
    changeWarning:
      "Alle Kurzlinks ziehen dorthin um. Was mit dem alten Namen gedruckt oder verschickt wurde, führt dann ins Leere, auch QR-Codes.",
    configuration: "Einstellungen",
    state: "Zustand",
    replace: "Website ersetzen: Ihre Seiten sind nicht erreichbar, solange der Name Link-Host ist.",
    certificate: "Ich habe ein Zertifikat für diesen Namen.",
  },

  installed: {
    title: "Was eingerichtet ist",
    id: "Cloudflare-Konto",
    worker: "Worker",
    upToDate: "auf dem neuesten Stand",
    outdated: "ein älterer; er wird von selbst erneuert",
    since: "Eingerichtet",
    tables: (schema) => `Tabellen der Fassung ${schema}`,
    database: "Datenbank",
    token: "Arbeits-Token",
    tokenEnds: (when) => `endet am ${when}`,
    report: "Letzter Bericht",
    queue: (count) => (count === 0 ? "nichts wartet" : `wartende Teile: ${number(count)}`),
    dropped: "Nicht gezählt",
    holds: "Websites und Links",
    sites: (count) => `Websites: ${count}`,
    links: (count) => `Links: ${count}`,
    over: (count) => `über ${number(count)}`,
  },
  reasons: {
    budget: "die freien Zeilen des Tages waren verbraucht",
    invalid: "kein Ereignis unseres Snippets",
    unknown_target: "gehört zu keiner Website und keinem Link",
    too_old: "kam erst nach Abschluss seines Tages",
    busy: "die Datenbank versagte",
    expired: "hat zu lange gewartet",
  },

  check: {
    byItself: "Nichts: Der Dienst behebt es von selbst.",
    title: "Prüfung",
    intro:
      "Vergleicht, was bei Cloudflare sein soll, mit dem, was dort ist, und bessert aus, was keiner Rückfrage bedarf.",
    submit: "Jetzt prüfen",
    asking: "Wird nachgesehen…",
    well: "Alles ist, wie es sein soll.",
    expected: "Soll",
    found: "Ist",
    mended: "ausgebessert",
    open: "braucht Sie",
  },

  ledger: {
    title: "Zählnachweis",
    intro: "Was aus jedem Ereignis eines Tages wurde; jede Zahl ist getrennt von der vorigen aufgeschrieben.",
    day: "Tag (UTC)",
    show: "Nachweis zeigen",
    target: "Website oder Link",
    accepted: "Angenommen",
    dropped: "Verworfen",
    waiting: "Wartet",
    counted: "Gezählt",
    pushed: "Gemeldet",
    stored: "Gespeichert",
    agrees: "Stimmt",
    bots: (count) => `Bots: ${number(count)}`,
    yes: "ja",
    all: "Alle Zahlen stimmen überein.",
    open: "Der Tag läuft noch.",
    differs: "Manche Zahlen stimmen nicht überein.",
    nothing: "An diesem Tag wurde nichts gezählt.",
    unavailable: {
      not_installed: "Der Worker ist nicht eingerichtet; bekannt ist nur, was gespeichert ist.",
      cloudflare: "Cloudflare hat nicht geantwortet; bekannt ist nur, was gespeichert ist.",
      rate_limited: "Zu viele Fragen in einer Minute; bekannt ist nur, was gespeichert ist.",
      not_kept:
        "Der Worker hebt seine Aufzeichnungen 35 Tage auf; von diesem Tag ist nur bekannt, was gespeichert ist.",
      not_counted: "Die Datenbank des Workers entstand erst nach diesem Tag.",
    },
    faults: {
      counting: "im Worker",
      unknown_target: "nicht aus diesem Konto",
      refused: "ein Teil wurde abgelehnt",
      push: "unterwegs",
      store: "im Speicher",
      set_back: "die Datenbank wurde zurückgesetzt",
    },
    offBy: (views, bots) => `Aufrufe: ${views}, Bots: ${bots}`,
    platform: (estimate, least, most) =>
      `Cloudflares eigene Zählung der Anfragen an den Worker: ${number(estimate)}, zwischen ${number(least)} und ${number(most)}. Sie beruht auf Stichproben, kommt einige Minuten später und enthält die 1.440 Läufe des Zeitgebers an einem Tag.`,
    notPlatform: "Cloudflares eigene Zählung dieses Tages ist nicht bekannt.",
    lost: (parts) => `Über alles nicht gezählt: ${list(parts)}.`,
  },

  disconnect: {
    title: (name) => `${name} trennen`,
    explain:
      "Routen, Worker und Datenbank werden aus dem Cloudflare-Konto entfernt. Seine Websites und Links werden gelöscht: Nichts wird mehr gezählt, und Kurzlinks führen ins Leere.",
    stays: "Was sie gezählt haben, bleibt hier. Das Trennen dauert bis zu einer Minute.",
    submit: "Trennen",
    asking: "Wird entfernt…",
    done: "Getrennt",
    clean: "Im Cloudflare-Konto ist nichts übrig.",
    left: "Was sich nicht entfernen ließ, und warum:",
    back: "Zu den Konten",
  },
};

export default account;
