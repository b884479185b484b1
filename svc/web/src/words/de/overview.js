/** Übersicht mit den vier Schritten der Einrichtung. */

/** @type {typeof import("../en/overview.js").default} */
const overview = {
  title: "Übersicht",
  steps: {
    label: "Erste Schritte",
    intro: "In vier Schritten zum ersten Aufruf.",
    done: "Erledigt",
    now: "Jetzt",
    later: "Später",
    confirm: "E-Mail-Adresse bestätigen",
    confirmText: (email) =>
      `Wir haben einen Link an ${email} gesendet. Öffnen Sie ihn und bestätigen Sie die Adresse. Diese Seite aktualisiert sich automatisch.`,
    connect: "Konto verbinden",
    connectText:
      "Gezählt wird in Ihrem eigenen Cloudflare-Konto. Dort werden ein Worker, eine Datenbank und ein Cron-Trigger installiert, sonst nichts.",
    connecting: "Der Worker wird installiert. Das dauert einige Sekunden und läuft im Hintergrund weiter.",
    add: "Website oder Kurzlink hinzufügen",
    addText: "Geben Sie den Host Ihrer Website ein. Er muss in einer Zone Ihres Cloudflare-Kontos liegen.",
    account: "Konto",
    host: "Host",
    hostHint: "Zum Beispiel shop.example.com",
    addSite: "Website hinzufügen",
    orLinks: "Nur Kurzlinks? Legen Sie zuerst einen Link-Host fest.",
    linkHost: "Link-Host festlegen",
    view: "Ersten Aufruf sehen",
    snippetText:
      "Fügen Sie das Snippet in Ihre Seiten ein und öffnen Sie eine davon. Der Aufruf erscheint hier innerhalb einer Stunde.",
    snippetOf: (host) => `Snippet für ${host}`,
    clickText: "Oder öffnen Sie Ihren Kurzlink. Der Klick erscheint hier sofort.",
  },
  needs: {
    title: "Handlungsbedarf",
    refused: "E-Mails werden abgewiesen",
    refusedText: "Mailserver weisen diese Adresse ab. Sie erhalten deshalb keine Benachrichtigungen.",
    seePage: "Ursache und Abhilfe stehen auf seiner Seite.",
    tokenEnds: "Token läuft bald ab",
    tokenEndsAt: (moment) => `Erneuern Sie es vor dem ${moment}.`,
    warning: "Warnung",
    advice: { watch: "Nähert sich einem Limit", upgrade_soon: "Bald upgraden", over: "Über einem Limit" },
    adviceText: "Die Limits des Tarifs und Ihre Nutzung stehen auf seiner Seite.",
  },
  sites: "Websites",
  site: "Website",
  state: "Status",
  firstView: "Erster Aufruf eingegangen",
  noView: "Noch kein Aufruf",
  days7: "7 Tage",
  daily: (views) => `Aufrufe pro Tag, ältester zuerst: ${views}`,
  views7d: "Aufrufe",
  closedDays: "Die letzten sieben vollen Tage. Tage enden um Mitternacht UTC.",
  allSites: "Alle Websites",
  links: "Meistgeklickte Links",
  link: "Link",
  target: "Ziel",
  clicks7d: "Klicks, 7 Tage",
  noClicks: "Keine Klicks in den letzten sieben vollen Tagen.",
  allLinks: "Alle Links",
};

export default overview;
