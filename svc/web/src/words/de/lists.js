/** Die Listen eines Berichts: Kanäle und der Export. */

/** @type {typeof import("../en/lists.js").default} */
const lists = {
  export: "Diesen Bericht als CSV exportieren",
  channels: "Kanäle",
  channelNames: {
    search: "Suchmaschinen",
    social: "Soziale Netzwerke",
    ai: "KI-Assistenten",
    email: "E-Mail",
    campaign: "Kampagnen",
    referral: "Andere Websites",
    direct: "Direkt oder ohne Angabe",
    qr: "QR-Code",
    internal: "Intern",
  },
};

export default lists;
