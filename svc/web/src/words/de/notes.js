/** Notizen zu den Tagen eines Berichts. */

/** @type {typeof import("../en/notes.js").default} */
const notes = {
  title: "Notizen",
  add: "Notiz hinzufügen",
  none: "Halten Sie fest, was an einem Tag geschah, etwa ein Newsletter oder ein Relaunch. Notizen sind im Diagramm markiert.",
  addTitle: "Notiz hinzufügen",
  editTitle: "Notiz bearbeiten",
  deleteTitle: "Notiz löschen?",
  deleteAutomatic: "Der Dienst hat diese Notiz angelegt. Nach dem Löschen legt er sie nicht noch einmal an.",
  day: "Tag (UTC)",
  text: "Notiz",
  on: "Anzeigen bei",
  targets: { site: "dieser Website", link: "diesem Link", account: "allen Websites und Links des Kontos" },
  save: "Speichern",
  edit: "Bearbeiten",
  editNamed: (text) => `Bearbeiten: ${text}`,
  delete: "Löschen",
  deleteNamed: (text) => `Löschen: ${text}`,
  wholeAccount: "Ganzes Konto",
  automatic: "Automatisch",
  saved: "Notiz gespeichert.",
  savedElsewhere: (day) => `Notiz gespeichert: ${day}. Der Tag liegt außerhalb dieses Zeitraums.`,
  deleted: "Notiz gelöscht.",
  showAll: (count) => `Alle ${count} Notizen anzeigen`,
  showFewer: "Weniger anzeigen",
  limited: "Nur die ersten 1.000 Notizen dieses Zeitraums werden angezeigt. Wählen Sie einen kürzeren Zeitraum.",
  texts: {
    imported: ({ until }) => `Bis ${until} aus einem anderen Produkt importiert, danach von diesem Dienst gezählt.`,
    snippet_rotated: ({ until }) => `Snippet ersetzt. Aufrufe mit dem alten Snippet werden noch bis ${until} gezählt.`,
    worker_updated: () => "Worker aktualisiert.",
    hours_refused: ({ hours }) =>
      `Das kostenlose Tageskontingent an Datenbankzeilen war größtenteils aufgebraucht, deshalb fehlen Stundenwerte für ${hours} h. Die Tagessumme ist vollständig.`,
    route_missing: ({ since, until }) =>
      until
        ? `Die Route der Website fehlte bei der Prüfung am ${since} und wurde am ${until} wiederhergestellt. Aufrufe dazwischen und kurz davor wurden nicht gezählt.`
        : `Die Route der Website fehlte bei der Prüfung am ${since}. Bis sie wiederhergestellt ist, werden keine Aufrufe gezählt.`,
    link_host_route_missing: ({ host, since, until }) =>
      until
        ? `Die Route des Link-Hosts ${host} fehlte bei der Prüfung am ${since} und wurde am ${until} wiederhergestellt. Dazwischen und kurz davor funktionierten die Links nicht.`
        : `Die Route des Link-Hosts ${host} fehlte bei der Prüfung am ${since}. Bis sie wiederhergestellt ist, funktionieren die Links nicht.`,
  },
};

export default notes;
