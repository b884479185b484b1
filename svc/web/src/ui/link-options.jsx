/** The A/B test, the schedule and the forwarded query of a link, in the form. */

import { useSignal } from "@preact/signals";

import { moment } from "../format.js";
import { asUrl } from "../pasted.js";
import { edited, fromLocal, toLocal } from "../schedule.js";
import { t } from "../words.js";
import { Check } from "./form.jsx";
import { OptionalSection } from "./optional-section.jsx";
import { ScheduleFields } from "./schedule.jsx";
import { asVariants, SplitEditor } from "./split-editor.jsx";

/** @typedef {import("../wire").Link} Link */
/** @typedef {ReturnType<typeof useOptions>} Options */

/** @param {Partial<Link>} link */
export const useOptions = (link) => ({
  variants: useSignal(asVariants(link.split)),
  starts: useSignal(toLocal(link.starts_at ?? null)),
  ends: useSignal(toLocal(link.ends_at ?? null)),
  after: useSignal(link.after_url ?? ""),
  forward: useSignal(link.forward_query ?? false),
  stored: { starts_at: link.starts_at ?? null, ends_at: link.ends_at ?? null },
});

/**
 * @template {"" | null} E
 * @param {Options} options
 * @param {E} empty the value of an empty field: "" to remove the stored value, null for a new link
 */
export const optionsBody = ({ variants, starts, ends, after, forward, stored }, empty) => ({
  split: variants.value.map(({ url, share }) => ({ url: url.trim(), share })),
  starts_at: edited(starts.value, stored.starts_at) ?? empty,
  ends_at: edited(ends.value, stored.ends_at) ?? empty,
  after_url: after.value.trim() || empty,
  forward_query: forward.value,
});

/**
 * @param {{
 *   options: Options,
 *   url: import("@preact/signals").Signal<string>,
 *   hasRules: boolean,
 *   notFoundUrl: string | null,
 * }} props `url`: the destination; `notFoundUrl`: where the link host redirects codes that do not exist
 */
export function OptionFields({ options, url, hasRules, notFoundUrl }) {
  const words = t().linkFields;
  const { variants, starts, ends, after, forward } = options;
  const count = variants.value.length;
  return (
    <>
      <OptionalSection
        title={words.split.title}
        state={count > 0 ? words.split.variants(count) : words.off}
        isUsed={count > 0}
        names={["split"]}
      >
        <SplitEditor variants={variants} url={url} />
      </OptionalSection>
      <OptionalSection
        title={words.schedule.title}
        state={summary(starts.value, ends.value)}
        isUsed={starts.value !== "" || ends.value !== ""}
        names={["starts_at", "ends_at", "after_url"]}
      >
        <ScheduleFields
          starts={starts}
          ends={ends}
          after={after}
          notFoundUrl={notFoundUrl}
          url={hasRules || count > 0 ? null : asUrl(url.value.trim())}
        />
      </OptionalSection>
      <OptionalSection
        title={words.forward.title}
        state={forward.value ? words.forward.on : words.off}
        isUsed={forward.value}
        names={["forward_query"]}
      >
        <Check
          label={words.forward.label}
          checked={forward.value}
          onChange={(/** @type {any} */ event) => (forward.value = event.currentTarget.checked)}
        />
        <p class="hint">{words.forward.hint}</p>
      </OptionalSection>
    </>
  );
}

/**
 * @param {string} starts @param {string} ends values of the fields @returns {string} the schedule in a few words, such
 *   as "Dec 1, … – Dec 24, …"
 */
function summary(starts, ends) {
  const [from, to] = [starts, ends].map((value) => fromLocal(value)).map((at) => (at === null ? "" : moment(at)));
  return from || to ? `${from} – ${to}`.trim() : t().linkFields.schedule.always;
}
