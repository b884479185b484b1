/** The QR code of a link. */

import { plural } from "../../format.js";

const qr = {
  title: (/** @type {string} */ link) => `QR code for ${link}`,
  alt: (/** @type {string} */ address) => `QR code for ${address}`,
  counts: "Scans are counted under the source “QR code”. Keep the margin when you print the code.",
  style: "Colors, logo and margin",
  dark: "Color of the code",
  light: "Background",
  transparent: "Transparent background",
  transparentHint: "Place the code only on a light background.",
  logo: (/** @type {string} */ name) => `Logo of ${name}`,
  margin: "Margin",
  margins: (/** @type {number} */ modules) =>
    modules === 0 ? "None" : plural(modules, { one: "# module", other: "# modules" }),
  marginHint:
    "Scanners need a margin of 4 modules (small squares of the code). If the margin is smaller, place the code on a light background.",
  size: "Size",
  pixels: (/** @type {number} */ size, /** @type {string} */ cm) =>
    `${size} × ${size} pixels, for printing at up to ${cm} cm`,
  svg: "Download SVG",
  png: "Download PNG",
};

export default qr;
