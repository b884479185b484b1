/** Strings for a single link, used on several pages. */

import { plural } from "../../format.js";

const link = {
  one: "Link",
  add: "New link",
  import: "Import links",
  showDeleted: "Show deleted links",
  change: "Edit",
  remove: "Delete",
  andRules: (/** @type {number} */ count) => plural(count, { one: "+ # rule", other: "+ # rules" }),
  live: "Live",
  pending: "Syncing",
  held: "Not synced",
  broken: "Broken destination",
  scheduled: "Not started",
  ended: "Ended",
  qr: "QR code",
  copyKey: "copy short link",
  qrKey: "show QR code",
  editKey: "edit",
  clickFlight: "Some Cloudflare locations may serve the previous version of the link for up to a minute.",
  target: "Destination",
  made: (/** @type {string} */ ago) => `Created ${ago}`,
};

export default link;
