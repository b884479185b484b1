/** The QR code of a link: shown in a dialog, downloadable as SVG or PNG. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { ask, fill } from "../api.js";
import { saveFile } from "../files.js";
import { number } from "../format.js";
import { bare } from "../short-url.js";
import { t } from "../words.js";
import { Choice } from "./choice.jsx";
import { Dialog } from "./dialog.jsx";
import { ErrorMessage, Skeleton } from "./parts.jsx";
import { useWrite } from "./write.js";

/** @typedef {import("../wire").Link} Link */

const SIZES_PX = [256, 512, 1024, 2048];
/** The printed size of a pixel at 300 dots per inch. */
const CM_PER_PX = 2.54 / 300;

/**
 * @param {Link} link
 * @param {number} [size_px] by default the image scales to the size of its element
 * @returns {Promise<Blob>} an SVG
 * @throws {import("../http.js").ApiError}
 */
async function picture({ id }, size_px) {
  const path = fill("/v1/links/{link_id}/qr.svg", { link_id: id, size: size_px });
  const response = await ask("GET", path, { headers: { Accept: "image/svg+xml, application/json" } });
  return new Blob([await response.text()], { type: "image/svg+xml" });
}

/** @param {Blob} svg @param {number} size_px @returns {Promise<Blob>} the image as PNG */
async function inPixels(svg, size_px) {
  const url = URL.createObjectURL(svg);
  try {
    const image = Object.assign(new Image(), { src: url });
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: size_px, height: size_px });
    canvas.getContext("2d")?.drawImage(image, 0, 0, size_px, size_px);
    const png = await new Promise((/** @type {(png: Blob | null) => void} */ done) => canvas.toBlob(done));
    if (!png) throw new Error("the browser could not create the PNG");
    return png;
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** @param {{link: Link, size: number}} props the picture of a width in pixels; nothing until it is loaded */
export function QrPicture({ link, size }) {
  const shown = useSignal("");
  useEffect(() => {
    picture(link).then(
      (svg) => (shown.value = URL.createObjectURL(svg)),
      () => {}, // The dialog reports the error.
    );
    return () => URL.revokeObjectURL(shown.peek());
  }, []);
  const alt = t().link.picture.alt(`${link.short_url}?q`);
  return shown.value ? <img class="qr-picture" src={shown.value} alt={alt} width={size} height={size} /> : null;
}

/** @param {{link: Link, close: () => void}} props */
export function QrDialog({ link, close }) {
  const words = t().link.picture;
  const shown = useSignal("");
  const size_px = useSignal(1024);
  const { busy, error, run } = useWrite();
  const address = `${link.short_url}?q`;

  const read = () => run(async () => void (shown.value = URL.createObjectURL(await picture(link))));
  useEffect(() => {
    read();
    return () => URL.revokeObjectURL(shown.peek());
  }, []);

  /** @param {"svg" | "png"} kind */
  const save = (kind) =>
    run(async () => {
      const size = size_px.value;
      const svg = await picture(link, size);
      saveFile(kind === "svg" ? svg : await inPixels(svg, size), `${link.code}-${size}.${kind}`);
    });
  return (
    <Dialog title={words.title(bare(link))} close={close}>
      <div class="qr">
        {shown.value ? (
          <img src={shown.value} alt={words.alt(address)} width="320" height="320" />
        ) : (
          !error && <Skeleton rows={5} />
        )}
      </div>
      <p class="hint">{words.counts}</p>
      {error && <ErrorMessage error={error} again={shown.value ? undefined : read} />}
      <Choice
        label={words.size}
        value={`${size_px.value}`}
        options={Object.fromEntries(
          SIZES_PX.map((size) => [size, words.pixels(size, number(Math.round(size * CM_PER_PX)))]),
        )}
        choose={(size) => (size_px.value = Number(size))}
      />
      <p class="actions">
        <button type="button" data-first aria-disabled={busy} onClick={() => save("png")}>
          {words.png}
        </button>
        <button type="button" aria-disabled={busy} onClick={() => save("svg")}>
          {words.svg}
        </button>
        <button type="button" class="quiet" onClick={close}>
          {t().common.close}
        </button>
      </p>
    </Dialog>
  );
}
