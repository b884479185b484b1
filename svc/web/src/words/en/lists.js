/** The lists of a report: channels of sources, and the export. */

export default {
  export: "Export this report as CSV",
  channels: "Channels",
  channelNames: {
    search: "Search engines",
    social: "Social networks",
    ai: "AI assistants",
    email: "Email",
    campaign: "Campaigns",
    referral: "Other websites",
    direct: "Direct / none",
    qr: "QR code",
    internal: "Internal",
  },
};
