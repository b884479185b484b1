/** @type {typeof import("../en/channels.js").default} */
const channels = {
  title: "Kanäle",
  names: {
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

export default channels;
