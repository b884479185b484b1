/** Die erste Seite. */

/** @type {typeof import("../en/overview.js").default} */
const overview = {
  title: "Übersicht",
  accounts: "Konten",
  sites: "Websites",
  account: "Konto",
  site: "Website",
  state: "Zustand",
  noAccounts: "Noch ist kein Konto verbunden.",
  noSites: "Noch wird keine Website gezählt.",
  views7d: "Aufrufe in 7 Tagen (UTC)",
};

export default overview;
