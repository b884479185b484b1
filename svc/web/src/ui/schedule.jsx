/** The start and the end of a link: the fields, and what visitors get at which time. */

import { useId, useRef } from "preact/hooks";

import { moment } from "../format.js";
import { asUrl } from "../pasted.js";
import { fromLocal, phasesOf } from "../schedule.js";
import { t } from "../words.js";
import { Field } from "./form.jsx";

/**
 * @template T
 * @typedef {import("@preact/signals").Signal<T>} Signal
 */
/**
 * @typedef {object} Shown
 * @property {string | null} starts_at
 * @property {string | null} ends_at
 * @property {string | null} after_url the destination before the start and after the end
 * @property {string | null} notFoundUrl the destination without `after_url`; null if the link host shows a page
 * @property {string | null} url the destination between the start and the end; null if there are several
 */

/** The reader's time zone, such as Europe/Berlin. */
const ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** @param {string} at @returns {boolean} true if the reader's clock shows UTC at this time */
const isUtc = (at) => new Date(at).getTimezoneOffset() === 0;

/** @param {string} at @returns {string} Dec 1, 2026, 9:00 AM UTC (Dec 1, 2026, 10:00 AM GMT+1) */
const inBoth = (at) => (isUtc(at) ? moment(at, "UTC") : `${moment(at, "UTC")} (${moment(at)})`);

/** @param {Shown} props what visitors get before, between and after the two times */
export function Phases({ starts_at, ends_at, after_url, notFoundUrl, url }) {
  const words = t().linkFields.schedule;
  const elsewhere = after_url || notFoundUrl;
  return (
    <ol class="leads phases">
      {phasesOf({ starts_at, ends_at }, Date.now()).map(({ kind, from, to, isNow }) => {
        const target = kind === "during" ? url : elsewhere;
        return (
          <li key={kind} aria-current={isNow ? "true" : undefined}>
            {words.when({ from: from && inBoth(from), to: to && inBoth(to) })}{" "}
            {target ? (
              <>
                {words.goTo} <code>{target}</code>
              </>
            ) : kind === "during" ? (
              words.destinations
            ) : (
              words.notFound
            )}
            {isNow && <strong> {words.now}</strong>}
          </li>
        );
      })}
    </ol>
  );
}

/**
 * @param {{
 *   starts: Signal<string>,
 *   ends: Signal<string>,
 *   after: Signal<string>,
 *   notFoundUrl: string | null,
 *   url: string | null,
 * }} props `starts`, `ends`: values of `datetime-local` fields; `notFoundUrl`, `url`: see `Shown`
 */
export function ScheduleFields({ starts, ends, after, notFoundUrl, url }) {
  const words = t().linkFields.schedule;
  const id = useId();
  const [starts_at, ends_at] = [fromLocal(starts.value), fromLocal(ends.value)];
  const isInOrder = starts_at === null || ends_at === null || starts_at < ends_at;
  return (
    <div class="column wide">
      <p class="hint">{words.explain}</p>
      <div class="choices">
        <TimeField name="starts_at" label={words.start} time={starts} />
        <TimeField name="ends_at" label={words.end} time={ends} />
      </div>
      <Field
        name="after_url"
        label={words.after}
        hint={notFoundUrl ? words.afterUrl(notFoundUrl) : words.afterPage}
        optional
        pasted="url"
        inputMode="url"
        autocomplete="off"
        value={after.value}
        onInput={(/** @type {any} */ event) => (after.value = event.currentTarget.value)}
      />
      {(starts_at !== null || ends_at !== null) && isInOrder && (
        <section aria-labelledby={`${id}-result`}>
          <h2 id={`${id}-result`}>{words.result}</h2>
          <Phases
            starts_at={starts_at}
            ends_at={ends_at}
            after_url={asUrl(after.value.trim()) || null}
            notFoundUrl={notFoundUrl}
            url={url}
          />
        </section>
      )}
    </div>
  );
}

/** @param {{name: string, label: string, time: Signal<string>}} props a local time */
function TimeField({ name, label, time }) {
  const words = t().linkFields.schedule;
  const at = fromLocal(time.value);
  // The browser keeps the value of this field. If the component set the value after each key, the user could not clear
  // a part of the date.
  const initial = useRef(time.value);
  return (
    <Field
      name={name}
      label={label}
      hint={at === null || isUtc(at) ? words.zone(ZONE) : `${words.zone(ZONE)} ${moment(at, "UTC")}`}
      invalid={words.incomplete}
      optional
      type="datetime-local"
      min="2000-01-01T00:00"
      max="2099-12-31T23:59"
      defaultValue={initial.current}
      onInput={(/** @type {any} */ event) => (time.value = event.currentTarget.value)}
    />
  );
}
