/** Die erste Seite. */

/** @type {typeof import("../en/overview.js").default} */
const overview = {
  title: "Übersicht",
  steps: {
    label: "Bis der erste Aufruf gezählt ist",
    intro: "Vier Schritte, und Ihr erster Aufruf ist gezählt. Offen ist immer der nächste.",
    done: "Erledigt",
    now: "Jetzt",
    later: "Später",
    confirm: "Adresse bestätigen",
    confirmText: (email) =>
      `Wir haben einen Link an ${email} geschickt. Öffnen Sie ihn, und drücken Sie dort auf den Knopf; hier geht es dann von selbst weiter.`,
    connect: "Konto verbinden",
    connectText:
      "Gezählt wird in Ihrem eigenen Cloudflare-Konto. Dort kommen ein Worker, eine Datenbank und ein Zeitgeber hinein, sonst nichts.",
    connecting: "Der Worker wird eingerichtet. Das dauert einige Sekunden und geht ohne Sie weiter.",
    add: "Website oder Kurzlink anlegen",
    addText: "Eine Website ist ein Hostname, dessen Seiten gezählt werden. Er muss in einer Zone Ihres Kontos liegen.",
    account: "Konto",
    host: "Hostname der Website",
    hostHint: "Zum Beispiel shop.example.com",
    addSite: "Diese Website zählen",
    orLinks: "Lieber Kurzlinks? Die brauchen zuerst einen eigenen Host.",
    linkHost: "Link-Host wählen",
    view: "Den ersten Aufruf sehen",
    snippetText:
      "Setzen Sie das Snippet in Ihre Seiten, und öffnen Sie eine davon. Spätestens nach einer Stunde steht es hier.",
    snippetOf: (host) => `Snippet für ${host}`,
    clickText: "Oder öffnen Sie einmal Ihren Kurzlink: Ein Klick steht sofort hier.",
  },
  needs: {
    title: "Darum sollten Sie sich kümmern",
    refused: "Post kommt nicht an",
    refusedText: "Mailserver nehmen für diese Adresse nichts an; von Störungen erfahren Sie so nichts.",
    seePage: "Auf seiner Seite steht, was fehlt und was zu tun ist.",
    tokenEnds: "Token läuft ab",
    tokenEndsAt: (moment) => `Erneuern Sie es vor dem ${moment}.`,
    warning: "Bitte ansehen",
    advice: { watch: "Wächst auf eine Grenze zu", upgrade_soon: "Nahe an einer Grenze", over: "Über einer Grenze" },
    adviceText: "Auf seiner Seite stehen die Grenzen des Tarifs und was davon verbraucht ist.",
  },
  sites: "Websites",
  site: "Website",
  state: "Zustand",
  noView: "Noch kein Aufruf",
  days7: "7 Tage",
  daily: (views) => `Aufrufe je Tag, der älteste zuerst: ${views}`,
  views7d: "Aufrufe",
  closedDays: "Die letzten sieben abgeschlossenen Tage; Tage enden um Mitternacht UTC.",
  allSites: "Alle Websites",
  links: "Meistgeklickte Links",
  link: "Link",
  target: "Führt zu",
  clicks7d: "Klicks in 7 Tagen",
  noClicks: "In den letzten sieben abgeschlossenen Tagen wurde kein Link angeklickt.",
  allLinks: "Alle Links",
};

export default overview;
