/** Der QR-Code eines Links. */

import { plural } from "../../format.js";

/** @type {typeof import("../en/qr.js").default} */
const qr = {
  title: (link) => `QR-Code für ${link}`,
  alt: (address) => `QR-Code für ${address}`,
  counts: "Scans werden unter der Quelle „QR-Code“ gezählt. Lassen Sie beim Drucken den Rand stehen.",
  style: "Farben, Logo und Rand",
  dark: "Farbe des Codes",
  light: "Hintergrund",
  transparent: "Transparenter Hintergrund",
  transparentHint: "Platzieren Sie den Code nur auf hellem Hintergrund.",
  logo: (name) => `Logo von ${name}`,
  margin: "Rand",
  margins: (modules) => (modules === 0 ? "Keiner" : plural(modules, { one: "# Modul", other: "# Module" })),
  marginHint:
    "Scanner brauchen ringsum einen Rand von 4 Modulen (Quadraten des Codes). Setzen Sie den Code bei einem schmaleren Rand auf einen hellen Hintergrund.",
  size: "Größe",
  pixels: (size, cm) => `${size} × ${size} Pixel, im Druck bis ${cm} cm`,
  svg: "SVG herunterladen",
  png: "PNG herunterladen",
};

export default qr;
