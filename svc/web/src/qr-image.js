/** QR codes as files: SVG from the service, and PNG that the browser draws from the SVG. */

import { ask, fill } from "./api.js";

/**
 * @typedef {object} QrStyle
 * @property {string} dark color of the modules, `#rrggbb`
 * @property {string} light color of the background
 * @property {boolean} transparent true for a background without a color
 * @property {boolean} logo true if the operator's logo is in the center
 * @property {number} margin in modules
 */

/** @type {QrStyle} */
export const PLAIN = { dark: "#000000", light: "#ffffff", transparent: false, logo: false, margin: 4 };

/**
 * @param {string} id of the link
 * @param {QrStyle} style
 * @param {{size_px?: number | undefined, signal?: AbortSignal}} [more] without a size, the image scales to its element
 * @returns {Promise<string>} an SVG
 * @throws {import("./http.js").ApiError}
 */
export async function readSvg(id, style, { size_px, signal } = {}) {
  const { dark, logo, margin } = style;
  const light = style.transparent ? "transparent" : style.light;
  const path = fill("/v1/links/{link_id}/qr.svg", {
    link_id: id,
    size: size_px,
    dark: dark === PLAIN.dark ? undefined : dark,
    light: light === PLAIN.light ? undefined : light,
    logo: logo ? 1 : undefined,
    margin: margin === PLAIN.margin ? undefined : margin,
  });
  const headers = { Accept: "image/svg+xml, application/json" };
  return (await ask("GET", path, { headers, ...(signal && { signal }) })).text();
}

/** @param {string} svg @returns {Blob} */
export const fileOf = (svg) => new Blob([svg], { type: "image/svg+xml" });

/**
 * The width and the offset of a QR code in an image. All modules have the same whole number of pixels, as in the images
 * that the service draws. The remaining pixels make the margin wider.
 * @param {number} modules with the margin
 * @param {number} size_px of the image
 * @returns {{width_px: number, offset_px: number}}
 */
export function wholePixels(modules, size_px) {
  const width_px = Math.max(1, Math.floor(size_px / modules)) * modules;
  return { width_px, offset_px: Math.floor((size_px - width_px) / 2) };
}

/** @param {string} svg @param {QrStyle} style @param {number} size_px @returns {Promise<Blob>} the image as PNG */
export async function toPng(svg, { light, transparent }, size_px) {
  const modules = Number(/viewBox="0 0 (\d+)/.exec(svg)?.[1]);
  const { width_px, offset_px } = wholePixels(modules, size_px);
  const url = URL.createObjectURL(fileOf(svg));
  try {
    const image = Object.assign(new Image(), { src: url });
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: size_px, height: size_px });
    const context = canvas.getContext("2d");
    if (context && !transparent) {
      context.fillStyle = light;
      context.fillRect(0, 0, size_px, size_px);
    }
    context?.drawImage(image, offset_px, offset_px, width_px, width_px);
    const png = await new Promise((/** @type {(png: Blob | null) => void} */ done) => canvas.toBlob(done));
    if (!png) throw new Error("the browser could not create the PNG");
    return png;
  } finally {
    URL.revokeObjectURL(url);
  }
}
