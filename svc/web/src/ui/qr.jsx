/** The QR code of a link: shown in a dialog, downloadable as SVG or PNG in the user's colors and with the logo. */

import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";

import { saveFile } from "../files.js";
import { number } from "../format.js";
import { asApiError } from "../http.js";
import { logo, product } from "../operator.js";
import { PLAIN, fileOf, readSvg, toPng } from "../qr-image.js";
import { bare } from "../short-url.js";
import { t } from "../words.js";
import { Choice } from "./choice.jsx";
import { Dialog } from "./dialog.jsx";
import { Check } from "./form.jsx";
import { ErrorMessage, Skeleton, issueText } from "./parts.jsx";
import { useWrite } from "./write.js";

/** @typedef {import("../wire").Link} Link */
/** @typedef {import("../qr-image.js").QrStyle} QrStyle */

const SIZES_PX = [256, 512, 1024, 2048];
const MARGINS = [0, 2, 4];
/** The printed size of a pixel at 300 dots per inch. */
const CM_PER_PX = 2.54 / 300;

/**
 * The URL of a picture of the QR code, which is valid while the component is mounted.
 * @param {Link} link
 * @param {QrStyle} style the picture is read again if this object changes
 * @returns {{url: string, error: import("../http.js").ApiError | null, again: () => void}} `url`: the last picture that
 *   could be read, "" if there is none. `error`: the reason why there is no picture of this style
 */
function useQrPicture({ id }, style) {
  const shown = useSignal({ url: "", error: /** @type {import("../http.js").ApiError | null} */ (null) });
  const tries = useSignal(0);
  useEffect(() => {
    const left = new AbortController();
    readSvg(id, style, { signal: left.signal }).then(
      (svg) => {
        if (left.signal.aborted) return;
        URL.revokeObjectURL(shown.peek().url);
        shown.value = { url: URL.createObjectURL(fileOf(svg)), error: null };
      },
      (error) => {
        if (!left.signal.aborted) shown.value = { ...shown.peek(), error: asApiError(error) };
      },
    );
    return () => left.abort();
  }, [id, style, tries.value]);
  useEffect(() => () => URL.revokeObjectURL(shown.peek().url), []);
  return { ...shown.value, again: () => void (tries.value += 1) };
}

/**
 * @param {{link: Link, size: number}} props `size`: the width in pixels. Renders nothing until the picture is loaded
 */
export function QrPicture({ link, size }) {
  const { url } = useQrPicture(link, PLAIN); // The dialog reports errors.
  const alt = t().qr.alt(`${link.short_url}?q`);
  return url ? <img class="qr-picture" src={url} alt={alt} width={size} height={size} /> : null;
}

/** @param {{link: Link, close: () => void}} props */
export function QrDialog({ link, close }) {
  const words = t().qr;
  const style = useSignal(PLAIN);
  const size_px = useSignal(1024);
  const { url, error, again } = useQrPicture(link, style.value);
  const saving = useWrite();
  const address = `${link.short_url}?q`;
  const [issue] = error?.issues ?? [];

  /** @param {"svg" | "png"} kind */
  const save = (kind) =>
    saving.run(async () => {
      const [chosen, size] = [style.value, size_px.value];
      const svg = await readSvg(link.id, chosen, { size_px: size });
      saveFile(kind === "svg" ? fileOf(svg) : await toPng(svg, chosen, size), `${link.code}-${size}.${kind}`);
    });
  return (
    <Dialog title={words.title(bare(link))} close={close}>
      <div class="qr">
        {url ? <img src={url} alt={words.alt(address)} width="320" height="320" /> : !error && <Skeleton rows={5} />}
      </div>
      <p class="hint">{words.counts}</p>
      {issue ? (
        <p class="issue" role="alert">
          {issueText(issue)}
        </p>
      ) : (
        error && <ErrorMessage error={error} again={again} />
      )}
      {saving.error && !error && <ErrorMessage error={saving.error} />}
      <details class="qr-style">
        <summary>{words.style}</summary>
        <StyleFields chosen={style.value} change={(part) => (style.value = { ...style.value, ...part })} />
      </details>
      <Choice
        label={words.size}
        value={`${size_px.value}`}
        options={Object.fromEntries(
          SIZES_PX.map((size) => [size, words.pixels(size, number(Math.round(size * CM_PER_PX)))]),
        )}
        choose={(size) => (size_px.value = Number(size))}
      />
      <p class="actions">
        <button type="button" data-first aria-disabled={saving.busy} onClick={() => save("png")}>
          {words.png}
        </button>
        <button type="button" aria-disabled={saving.busy} onClick={() => save("svg")}>
          {words.svg}
        </button>
        <button type="button" class="quiet" onClick={close}>
          {t().common.close}
        </button>
      </p>
    </Dialog>
  );
}

/** @param {{chosen: QrStyle, change: (part: Partial<QrStyle>) => void}} props colors, logo and margin */
function StyleFields({ chosen, change }) {
  const words = t().qr;
  return (
    <>
      <Color label={words.dark} value={chosen.dark} choose={(dark) => change({ dark })} />
      {!chosen.transparent && <Color label={words.light} value={chosen.light} choose={(light) => change({ light })} />}
      <Check
        label={words.transparent}
        checked={chosen.transparent}
        onChange={() => change({ transparent: !chosen.transparent })}
      />
      {chosen.transparent && <p class="hint">{words.transparentHint}</p>}
      {logo && (
        <Check label={words.logo(product)} checked={chosen.logo} onChange={() => change({ logo: !chosen.logo })} />
      )}
      <Choice
        label={words.margin}
        value={`${chosen.margin}`}
        options={Object.fromEntries(MARGINS.map((margin) => [`${margin}`, words.margins(margin)]))}
        choose={(margin) => change({ margin: Number(margin) })}
        {...(chosen.margin < PLAIN.margin && { hint: words.marginHint })}
      />
    </>
  );
}

/** @param {{label: string, value: string, choose: (color: string) => void}} props takes effect when it is chosen */
function Color({ label, value, choose }) {
  const id = useId();
  return (
    <p class="field">
      <label for={id}>{label}</label>
      <input id={id} type="color" value={value} onChange={({ currentTarget }) => choose(currentTarget.value)} />
    </p>
  );
}
