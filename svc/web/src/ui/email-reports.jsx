/** The email reports about a site, or about all sites of an account: the schedule and the recipients. */

import { useSignal } from "@preact/signals";

import { call } from "../api.js";
import { longDay } from "../format.js";
import { useResource } from "../resource.js";
import { t } from "../words.js";
import { Check, Field, Form } from "./form.jsx";
import { Loaded, Mark } from "./parts.jsx";
import { When } from "./when.jsx";

/**
 * @typedef {import("../wire").Mailings} Mailings
 * @typedef {import("../wire").Recipient} Recipient
 * @typedef {import("../wire").PutMailings} Wanted
 */

/** @type {Record<Recipient["state"], "good" | "watch" | "none">} */
const MARKS = { unconfirmed: "watch", confirmed: "good", unsubscribed: "none" };

/** @param {{id: string}} props */
export function SiteEmailReports({ id }) {
  const read = useResource("GET /v1/sites/{site_id}/mailings", { site_id: id });
  return (
    <Section
      kind="site"
      read={read}
      send={async (body, key) => read.put(await call("PUT /v1/sites/{site_id}/mailings", { site_id: id, body, key }))}
    />
  );
}

/** @param {{id: string}} props */
export function AccountEmailReports({ id }) {
  const read = useResource("GET /v1/accounts/{account_id}/mailings", { account_id: id });
  return (
    <Section
      kind="account"
      read={read}
      send={async (body, key) =>
        read.put(await call("PUT /v1/accounts/{account_id}/mailings", { account_id: id, body, key }))
      }
    />
  );
}

/**
 * @param {{
 *   kind: "site" | "account",
 *   read: import("../resource.js").Read<{mailings: Mailings}>,
 *   send: (body: Wanted, key: string) => Promise<void>,
 * }} props
 */
function Section({ kind, read, send }) {
  const words = t().emailReports;
  return (
    <section aria-labelledby="email-reports">
      <h2 id="email-reports">{words.title}</h2>
      <p>
        {words.explain[kind]}{" "}
        <a href="/help/use/email-reports" hreflang="en" target="_blank" rel="noopener">
          {words.help}
          <span class="unseen"> ({t().common.newTab})</span>
        </a>
      </p>
      <Loaded read={read} rows={2}>
        {({ mailings }) => <Settings mailings={mailings} send={send} />}
      </Loaded>
    </section>
  );
}

/** @param {{mailings: Mailings, send: (body: Wanted, key: string) => Promise<void>}} props */
function Settings({ mailings, send }) {
  const words = t().emailReports;
  /** The addresses that the user has removed since the last save. */
  const removed = useSignal(/** @type {string[]} */ ([]));
  const saved = useSignal(false);
  const kept = mailings.recipients.filter(({ email }) => !removed.value.includes(email));
  return (
    <div class="column wide">
      <Form
        submit={words.save}
        send={async (values, key, form) => {
          saved.value = false;
          const without = removed.value;
          const added = addressesIn(values.recipients ?? "");
          await send(
            {
              weekly: values.weekly !== undefined,
              monthly: values.monthly !== undefined,
              alerts: values.alerts !== undefined,
              recipients: [
                ...kept.map(({ email }) => ({ email, language: languageIn(values[`language ${email}`]) })),
                ...added.map((email) => ({ email })),
              ],
            },
            key,
          );
          saved.value = true;
          // Keep what the user removed and typed during the request.
          removed.value = removed.value.filter((email) => !without.includes(email));
          const field = /** @type {HTMLTextAreaElement} */ (form.elements.namedItem("recipients"));
          const typed = addressesIn(field.value).filter((email) => !added.includes(email));
          field.value = typed.join("\n");
        }}
      >
        <Check
          name="weekly"
          label={scheduled(words.weekly, mailings.next_weekly_on)}
          defaultChecked={mailings.weekly}
        />
        <Check
          name="monthly"
          label={scheduled(words.monthly, mailings.next_monthly_on)}
          defaultChecked={mailings.monthly}
        />
        <Check name="alerts" label={words.alerts} defaultChecked={mailings.alerts} />
        <h3 id="recipients">{words.recipients}</h3>
        {kept.length === 0 && <p class="small">{words.none}</p>}
        <ul class="recipients" aria-labelledby="recipients">
          {kept.map((recipient) => (
            <li key={recipient.email}>
              <Subscriber recipient={recipient} remove={() => (removed.value = [...removed.value, recipient.email])} />
            </li>
          ))}
        </ul>
        <Field
          name="recipients"
          label={words.add}
          hint={words.addHint}
          area
          rows={2}
          inputmode="email"
          autocomplete="off"
          optional
        />
        <p role="status">{saved.value && words.saved}</p>
      </Form>
    </div>
  );
}

/** @param {{recipient: Recipient, remove: () => void}} props */
function Subscriber({ recipient: { email, language, state, confirmation_sent_at: sent_at }, remove }) {
  const words = t().emailReports;
  return (
    <>
      <span class="address">{email}</span> <Mark kind={MARKS[state]}>{words.states[state]}</Mark>{" "}
      {state === "unconfirmed" && (
        <span class="small">
          {sent_at === null ? (
            words.notAsked
          ) : (
            <>
              {words.asked} <When at={sent_at} />
            </>
          )}
        </span>
      )}
      {state === "unsubscribed" && <span class="small">{words.unsubscribed}</span>}
      <span class="actions">
        <select name={`language ${email}`} aria-label={words.languageOf(email)}>
          {Object.entries(words.languages).map(([tag, name]) => (
            <option key={tag} value={tag} selected={tag === language}>
              {name}
            </option>
          ))}
        </select>
        <button
          type="button"
          class="quiet"
          aria-label={words.removeNamed(email)}
          onClick={({ currentTarget }) => {
            remove();
            // Notify the form of the edit.
            currentTarget.dispatchEvent(new Event("input", { bubbles: true }));
          }}
        >
          {words.remove}
        </button>
      </span>
    </>
  );
}

/** @param {string} text @returns {string[]} the addresses, which are separated by spaces, commas or semicolons */
const addressesIn = (text) => text.split(/[\s,;]+/).filter(Boolean);

/** @param {string} label @param {string | null} day the day of the next report @returns {string} */
const scheduled = (label, day) => (day === null ? label : `${label} (${t().emailReports.next(longDay(day))})`);

/** @param {string | undefined} value @returns {Recipient["language"]} */
const languageIn = (value) => (value === "de" ? "de" : "en");
