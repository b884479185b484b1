/** The editor of an A/B test: variants with a slider and a number field for each share. The sum is always 100. */

import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

import { FEWEST, MOST, evenShares, largestShare, letter, withAnother, withShare, without } from "../split.js";
import { percent } from "../format.js";
import { t } from "../words.js";
import { Field } from "./form.jsx";

/**
 * @typedef {{key: number, url: string, share: number}} Variant `key` identifies the variant when another is removed
 * @typedef {import("@preact/signals").Signal<Variant[]>} Variants empty if the link has no A/B test
 */

let keys = 0;

/** @param {readonly {url: string, share: number}[] | null | undefined} split @returns {Variant[]} */
export const asVariants = (split) => (split ?? []).map(({ url, share }) => ({ key: (keys += 1), url, share }));

/** @param {Variant[]} variants @param {number[]} shares @returns {Variant[]} */
const withShares = (variants, shares) => variants.map((one, i) => ({ ...one, share: shares[i] ?? one.share }));

/** @param {number} share @returns {string} 35% */
const asPercent = (share) => percent(share / 100);

/**
 * @param {{variants: Variants, url: import("@preact/signals").Signal<string>}} props `url`: the destination, which is
 *   the URL of the first variant of a new test
 */
export function SplitEditor({ variants, url }) {
  const words = t().linkFields.split;
  const section = useRef(/** @type {HTMLFieldSetElement | null} */ (null));
  const focusNext = useRef("");
  const said = useSignal("");
  // The shares before the user began to move the slider. New shares are computed from these, because computing them
  // from the last position would gradually change the proportions.
  const before = useRef(/** @type {number[] | null} */ (null));
  const shares = variants.value.map(({ share }) => share);
  useLayoutEffect(() => {
    if (focusNext.current === "") return;
    /** @type {HTMLElement | null | undefined} */ (section.current?.querySelector(focusNext.current))?.focus();
    focusNext.current = "";
  });

  /** Store the variants and notify the form of the edit. @param {Variant[]} next @param {string} [focus] selector */
  const set = (next, focus = "") => {
    // Usually, a `change` event ends a movement. It is missing if the user types a share and then restores it, so any
    // other edit also ends the movement.
    before.current = null;
    focusNext.current = focus;
    variants.value = next;
    section.current?.dispatchEvent(new Event("input", { bubbles: true }));
  };
  /** @param {number} at @param {number} wanted */
  const move = (at, wanted) => {
    const begin = before.current ?? shares;
    set(withShares(variants.value, withShare(begin, at, wanted)));
    before.current = begin;
  };
  const moved = () => {
    before.current = null;
    said.value = variants.value.map(({ share }, i) => `${words.variant(letter(i))}: ${asPercent(share)}`).join(", ");
  };
  const begin = () =>
    set(
      asVariants(evenShares(FEWEST).map((share, i) => ({ url: i === 0 ? url.value : "", share }))),
      "li:last-child input",
    );
  const add = () =>
    set(
      withShares([...variants.value, ...asVariants([{ url: "", share: 1 }])], withAnother(shares)),
      "li:last-child input",
    );
  return (
    <fieldset class="rules split" data-field="split" ref={section}>
      <legend class="unseen">{words.title}</legend>
      <p class="hint">{words.explain}</p>
      {variants.value.length === 0 ? (
        <p class="actions">
          <button type="button" class="quiet add" onClick={begin}>
            {words.begin}
          </button>
        </p>
      ) : (
        <>
          <div class="split-shares" aria-hidden="true">
            {variants.value.map(({ key, share }, i) => (
              <span key={key} ref={(element) => element?.style.setProperty("flex-grow", String(share))}>
                {letter(i)}
              </span>
            ))}
          </div>
          <ol>
            {variants.value.map(({ key, url: target, share }, i) => (
              <li key={key}>
                <fieldset class="rule">
                  <legend>{words.variant(letter(i))}</legend>
                  <Field
                    name={`split.${i}.url`}
                    label={words.to}
                    pasted="url"
                    inputMode="url"
                    value={target}
                    placeholder="https://"
                    onInput={(/** @type {any} */ event) =>
                      set(
                        variants.value.map((one) =>
                          one.key === key ? { ...one, url: event.currentTarget.value } : one,
                        ),
                      )
                    }
                  />
                  <Share
                    at={i}
                    share={share}
                    most={largestShare(shares.length)}
                    move={(wanted) => move(i, wanted)}
                    moved={moved}
                  />
                  {shares.length > FEWEST && (
                    <p class="actions">
                      <button
                        type="button"
                        class="link"
                        onClick={() =>
                          set(withShares(variants.value.toSpliced(i, 1), without(shares, i)), ".add, .even")
                        }
                      >
                        {words.remove(letter(i))}
                      </button>
                    </p>
                  )}
                </fieldset>
              </li>
            ))}
          </ol>
          <p class="actions">
            {shares.length < MOST && (
              <button type="button" class="quiet add" onClick={add}>
                {words.add}
              </button>
            )}
            <button
              type="button"
              class="quiet even"
              onClick={() => {
                set(withShares(variants.value, evenShares(shares.length)));
                moved();
              }}
            >
              {words.even}
            </button>
            <button type="button" class="quiet" onClick={() => set([], ".add")}>
              {words.end}
            </button>
          </p>
        </>
      )}
      <p role="status" class="unseen">
        {said}
      </p>
    </fieldset>
  );
}

/**
 * @param {{at: number, share: number, most: number, move: (wanted: number) => void, moved: () => void}} props `move`:
 *   called while the share changes; `moved`: called after the change
 */
function Share({ at, share, most, move, moved }) {
  const words = t().linkFields.split;
  return (
    <div class="share-of">
      <input
        type="range"
        min={1}
        max={most}
        step={1}
        value={share}
        aria-label={words.shareOf(letter(at))}
        aria-valuetext={asPercent(share)}
        onInput={(event) => {
          event.stopPropagation(); // `move` notifies the form of the edit.
          move(Number(event.currentTarget.value));
        }}
        onChange={moved}
      />
      <Field
        name={`split.${at}.share`}
        label={words.percentOf(letter(at))}
        type="number"
        min={1}
        max={most}
        step={1}
        value={share}
        onInput={(/** @type {import("preact").TargetedEvent<HTMLInputElement>} */ event) => {
          const wanted = Number(event.currentTarget.value);
          if (Number.isInteger(wanted) && wanted >= 1 && wanted <= most) move(wanted);
        }}
        onChange={(/** @type {import("preact").TargetedEvent<HTMLInputElement>} */ { currentTarget }) => {
          // If the typed number was not possible, show the actual share.
          currentTarget.value = `${share}`;
          moved();
        }}
      />
      <span aria-hidden="true">%</span>
    </div>
  );
}
