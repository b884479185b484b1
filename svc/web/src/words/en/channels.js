/** Channels of sources. */

export default {
  title: "Channels",
  names: {
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
