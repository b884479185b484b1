/** What is said of one link wherever it is shown. */

const link = {
  one: "Link",
  add: "New link",
  change: "Change",
  remove: "Delete",
  andRules: (/** @type {number} */ count) => (count === 1 ? "+ 1 rule" : `+ ${count} rules`),
  live: "Live",
  pending: "On its way",
  held: "Held up",
  qr: "QR code",
  copyKey: "copy the short link",
  qrKey: "its QR code",
  editKey: "change it",
  wasDeleted: "This link is deleted. What it counted stays; its code is free for another one.",
  clickFlight: "A place of the edge may serve what was there before for up to a minute.",
  target: "Leads to",
  made: (/** @type {string} */ ago) => `Made ${ago}`,
  confirm: {
    title: (/** @type {string} */ link) => `Delete ${link}?`,
    text: "Who clicks it then finds nothing, and printed QR codes of it are dead. Its report and its totals stay.",
  },
  picture: {
    title: (/** @type {string} */ link) => `QR code of ${link}`,
    alt: (/** @type {string} */ address) => `QR code of ${address}`,
    counts: "A scan counts with the source “qr”. Leave its white edge where you print it.",
    size: "Size",
    pixels: (/** @type {number} */ size) => `${size} × ${size} pixels`,
    svg: "Download SVG",
    png: "Download PNG",
  },
};

export default link;
