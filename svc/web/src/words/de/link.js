/** Was von einem Link gesagt wird, wo immer er steht. */

/** @type {typeof import("../en/link.js").default} */
const link = {
  one: "Link",
  add: "Neuer Link",
  change: "Ändern",
  remove: "Löschen",
  andRules: (count) => (count === 1 ? "+ 1 Regel" : `+ ${count} Regeln`),
  live: "Live",
  pending: "Unterwegs",
  held: "Aufgehalten",
  qr: "QR-Code",
  copyKey: "Kurzlink kopieren",
  qrKey: "sein QR-Code",
  editKey: "ändern",
  wasDeleted: "Dieser Link ist gelöscht. Was er gezählt hat, bleibt; sein Code ist wieder frei.",
  clickFlight: "Ein Rechenzentrum liefert bis zu eine Minute lang noch, was vorher galt.",
  target: "Führt zu",
  made: (ago) => `Angelegt ${ago}`,
  confirm: {
    title: (link) => `${link} löschen?`,
    text: "Wer ihn anklickt, findet dann nichts mehr, und gedruckte QR-Codes sind tot. Sein Bericht und seine Summen bleiben.",
  },
  picture: {
    title: (link) => `QR-Code von ${link}`,
    alt: (address) => `QR-Code von ${address}`,
    counts: "Ein Scan zählt mit der Quelle „qr“. Lassen Sie beim Drucken den weißen Rand stehen.",
    size: "Größe",
    pixels: (size) => `${size} × ${size} Pixel`,
    svg: "SVG herunterladen",
    png: "PNG herunterladen",
  },
};

export default link;
