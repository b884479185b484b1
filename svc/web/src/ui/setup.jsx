/** The setup of a new site: snippet, progress until the first view, and troubleshooting. */

import { demonstration } from "../demonstration.js";
import { country } from "../format.js";
import { t } from "../words.js";
import { Mark, Note } from "./parts.jsx";
import { SnippetSection } from "./snippet.jsx";

/** @typedef {import("../wire").Site} Site */

/** If there is no view after this time, the page shows troubleshooting advice. */
const ADVICE_AFTER_MS = 300_000;

/** @param {{site: Site, first: ReturnType<typeof import("../first-view.js").useFirstView>}} props */
export function Setup({ site, first }) {
  const words = t().sites;
  const routed = site.state === "active";
  const synced = routed && site.config === "synced";
  const late = synced && Date.now() - Date.parse(site.created_at) > ADVICE_AFTER_MS;
  return (
    <>
      <div role="status">{first.seen && <Seen view={first.view} />}</div>
      {!first.seen && (
        <>
          <SnippetSection site={site} />
          <section aria-labelledby="setup">
            <h2 id="setup">{words.setup}</h2>
            <div role="status">
              <ol class="steps">
                <Step done={routed}>{words.steps.route}</Step>
                <Step done={synced}>{words.steps.config}</Step>
                <Step done={false}>{words.steps.view}</Step>
              </ol>
            </div>
            {first.bots && (
              <Note kind="watch">
                <p>{words.onlyBots}</p>
              </Note>
            )}
            {first.unavailable && (
              <Note kind="watch">
                <p>{t().report.unavailable[first.unavailable]}</p>
              </Note>
            )}
            {synced && (
              <p>
                {words.viewHint}{" "}
                <button type="button" class="quiet" onClick={first.check}>
                  {words.look}
                </button>
              </p>
            )}
            {synced && <DemonstrationVisit site={site} />}
            {late && (
              <Note>
                <p class="message">{words.advice.title}</p>
                <ul>
                  {words.advice.items.map((item) => (
                    <li key={item}>{item}</li>
                  ))}
                </ul>
              </Note>
            )}
          </section>
        </>
      )}
    </>
  );
}

/**
 * For demonstrations only: a link that counts a view of the emulated site, because no browser can open that site.
 * @param {{site: Site}} props
 */
function DemonstrationVisit({ site: { host, path } }) {
  const words = t().account.demonstration;
  const offered = demonstration();
  if (offered?.host !== host) return null;
  return (
    <Note>
      <p class="message">{words.title}</p>
      <p>{words.emulatedSite}</p>
      <p class="actions">
        <a
          class="button"
          href={`${offered.visit_url}?path=${encodeURIComponent(path)}`}
          target="_blank"
          rel="noopener noreferrer"
        >
          {words.visit}
        </a>
      </p>
    </Note>
  );
}

/** @param {{view: import("../wire").View | null}} props the message above the report after the first view */
const Seen = ({ view }) => (
  <Note kind="good">
    <p class="message">{t().sites.seenLive}</p>
    <p>{view ? seenView(view) : t().sites.seenText}</p>
  </Note>
);

/** @param {import("../wire").View} view @returns {string} who viewed what, as far as it is known */
const seenView = ({ page, country: code, browser }) =>
  t().sites.seenView(country(code, { unknown: t().lists.unknownCountry }), page, browser);

/** @param {{done: boolean, children: string}} props */
const Step = ({ done, children }) => (
  <li>
    <Mark kind={done ? "good" : "busy"}>{children}</Mark>
    {!done && <span class="small"> {t().sites.waiting}</span>}
  </li>
);
