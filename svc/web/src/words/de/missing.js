/** Die Seite eines Objekts, das es nicht gibt. */

/** @type {typeof import("../en/missing.js").default} */
const missing = {
  titles: {
    account: "Dieses Konto gibt es nicht",
    site: "Diese Website gibt es nicht",
    link: "Diesen Link gibt es nicht",
  },
  text: "Prüfen Sie die Adresse dieser Seite. Vielleicht wurde das Objekt gelöscht, oder es gehört einem anderen Benutzer.",
  lists: { account: "Zu den Konten", site: "Zu den Websites", link: "Zu den Links" },
};

export default missing;
