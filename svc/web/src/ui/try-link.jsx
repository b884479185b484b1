/** The destinations of a link, and the "Test link" form. The service evaluates the rules. */

import { useSignal } from "@preact/signals";

import { call } from "../api.js";
import { countries } from "../countries.js";
import { moment } from "../format.js";
import { languageName } from "../languages.js";
import { fromLocal, stateAt } from "../schedule.js";
import { letter } from "../split.js";
import { t } from "../words.js";
import { What } from "./breakdowns.jsx";
import { Destinations } from "./destinations.jsx";
import { Field, Form } from "./form.jsx";
import { Note } from "./parts.jsx";

/**
 * @typedef {import("../wire").Link} Link
 * @typedef {import("../wire").ExplainedClick} ExplainedClick
 * @typedef {keyof ReturnType<typeof t>["links"]["try"]["agents"]} Agent
 * @typedef {keyof ReturnType<typeof t>["links"]["try"]["ways"]} Way
 */

/** The User-Agent header of each kind of visitor. @type {Record<Exclude<Agent, "own">, string | null>} */
const AGENTS = {
  phone:
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 " +
    "Mobile/15E148 Safari/604.1",
  computer:
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
  android:
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36",
  mac:
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 " +
    "Safari/605.1.15",
  linux: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
  crawler: "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
  none: null,
};

/** The option for the languages that the browser sends. */
const BROWSER = "browser";

/** @param {Link} link @returns {string} the query of the first rule that has one */
function asked({ rules }) {
  const query = rules.find((rule) => rule.query)?.query;
  return query ? `${new URLSearchParams({ [query.name]: query.value ?? "" })}` : "";
}

// Cloudflare's additional country codes: unknown, and the Tor network.
const UNKNOWN = "XX";
const OTHER_PLACES = [UNKNOWN, "T1"];

/** @param {{link: Link}} props the section with the destinations and the form on the link's page */
export function Leading({ link }) {
  const words = t().links;
  return (
    <section aria-labelledby="leads">
      <h2 id="leads">{words.leads}</h2>
      <BrokenTargets targets={link.broken_targets ?? []} />
      <Destinations link={link} heading="h3" />
      {link.state === "active" && !link.disabled && (
        <details class="try">
          <summary>{words.try.title}</summary>
          <TryLink link={link} />
        </details>
      )}
    </section>
  );
}

/** @param {{targets: import("../wire").BrokenTarget[]}} props renders nothing if the list is empty */
function BrokenTargets({ targets }) {
  const words = t().links.broken;
  if (targets.length === 0) return null;
  return (
    <Note kind="bad">
      {targets.map(({ url, problem, since, checked_at }) => (
        <p key={url}>
          <strong>{url}</strong> {words.problems[problem]} {words.seen(moment(since), moment(checked_at))}
        </p>
      ))}
      <p>{words.remedy}</p>
    </Note>
  );
}

/**
 * The service does not report whether a bot's click is outside of the link's period, so compare the times in this case.
 * @param {ExplainedClick} click
 * @param {Link} link
 * @param {number} at_ms since 1970
 * @returns {boolean} true if the click is before the link's start or after its end
 */
const isOutside = ({ counted_as: { kind } }, link, at_ms) =>
  kind === "bot" ? stateAt(link, at_ms) !== "during" : kind === "outside";

/** @param {{link: Link}} props */
function TryLink({ link }) {
  const words = t().links.try;
  const agent = useSignal(/** @type {Agent} */ ("phone"));
  const way = useSignal(/** @type {Way} */ ("link"));
  // Preselect a country from a rule, so that the first test matches the rule.
  const likely = link.rules.find(({ countries: some = [] }) => some.length > 0)?.countries?.[0] ?? UNKNOWN;
  const found = useSignal(/** @type {{click: ExplainedClick, isOutside: boolean} | null} */ (null));
  const spoken = [...new Set(link.rules.flatMap(({ languages = [] }) => languages))];
  const isLimited = link.starts_at !== null || link.ends_at !== null;
  /** @param {Record<string, string>} options */
  const choices = (options) =>
    Object.entries(options).map(([value, text]) => (
      <option key={value} value={value}>
        {text}
      </option>
    ));
  return (
    <>
      <Form
        guard={false}
        submit={words.submit}
        send={async ({ country = UNKNOWN, own = "", source = "", query = "", language, at = "", bucket }, key) => {
          found.value = null;
          const body = {
            country,
            user_agent: agent.value === "own" ? own : AGENTS[agent.value],
            accept_language: language === BROWSER ? navigator.languages.join(",") : language || null,
            query: { link: null, qr: "q", campaign: `${new URLSearchParams({ utm_source: source })}`, query }[
              way.value
            ],
            at: fromLocal(at),
            bucket: bucket === undefined ? null : Number(bucket),
          };
          const click = await call("POST /v1/links/{link_id}/explain", { link_id: link.id, body, key });
          found.value = { click, isOutside: isOutside(click, link, at ? Date.parse(at) : Date.now()) };
        }}
      >
        <p class="hint">{words.explain}</p>
        <div class="choices">
          <Field name="country" label={words.country}>
            {countries([...OTHER_PLACES, likely]).map(({ code, name }) => (
              <option key={code} value={code} selected={code === likely}>
                {name}
              </option>
            ))}
          </Field>
          <Field
            name="agent"
            label={words.with}
            value={agent.value}
            onChange={(/** @type {any} */ event) => (agent.value = event.currentTarget.value)}
          >
            {choices(words.agents)}
          </Field>
          <Field
            name="way"
            label={words.by}
            value={way.value}
            onChange={(/** @type {any} */ event) => (way.value = event.currentTarget.value)}
          >
            {choices(words.ways)}
          </Field>
          {agent.value === "own" && <Field name="own" label={words.agent} defaultValue={navigator.userAgent} />}
          {way.value === "campaign" && <Field name="source" label={words.source} defaultValue="newsletter" />}
          {way.value === "query" && (
            <Field
              name="query"
              label={words.query}
              placeholder="ref=news"
              autocomplete="off"
              defaultValue={asked(link)}
            />
          )}
          {spoken.length > 0 && (
            <Field name="language" label={words.language}>
              {spoken.map((tag) => (
                <option key={tag} value={tag}>
                  {languageName(tag)}
                </option>
              ))}
              <option value={BROWSER}>{words.browserLanguages}</option>
              <option value="">{words.agents.none}</option>
            </Field>
          )}
          {isLimited && (
            <Field
              name="at"
              label={words.at}
              hint={words.atHint}
              invalid={t().linkFields.schedule.incomplete}
              type="datetime-local"
              optional
            />
          )}
          {link.split && (
            <Field
              name="bucket"
              label={words.bucket}
              hint={words.bucketHint}
              type="number"
              min={0}
              max={99}
              defaultValue="0"
            />
          )}
        </div>
      </Form>
      <div role="status">{found.value && <Found {...found.value} pending={link.config === "pending"} />}</div>
    </>
  );
}

/**
 * @param {{click: ExplainedClick, isOutside: boolean, pending: boolean}} props `isOutside`: true if the click is before
 *   the start or after the end
 */
function Found({ click: { url, rule, variant, counted_as }, isOutside: outside, pending }) {
  const words = t().links.try;
  const { kind, reason = "", source, device, browser, os } = counted_as;
  return (
    <Note kind="good">
      <p>
        {outside
          ? words.outside
          : rule !== null
            ? words.rule(rule + 1)
            : variant !== undefined
              ? words.variant(letter(variant))
              : words.noRule}{" "}
        {url === null ? t().linkFields.schedule.notFound : <code>{url}</code>}
      </p>
      {kind === "bot" ? (
        <p>
          {words.bot} <What name="bots" value={reason} />
        </p>
      ) : kind === "outside" ? (
        <p>{words.notCounted}</p>
      ) : (
        <p>
          {words.view} <What name="sources" value={source} /> · <What name="devices" value={device} /> ·{" "}
          <What name="browsers" value={browser} /> · <What name="os" value={os} />
        </p>
      )}
      {pending && <p class="small">{words.notYet}</p>}
    </Note>
  );
}
