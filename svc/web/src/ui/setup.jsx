/** The setup of a new site: snippet, progress until the first view, and troubleshooting. */

import { country } from "../format.js";
import { later } from "../later.jsx";
import { useResource } from "../resource.js";
import { t } from "../words.js";
import { Help } from "./help.jsx";
import { Mark, Note } from "./parts.jsx";

/**
 * @typedef {import("../wire").Site} Site
 * @typedef {NonNullable<import("../wire").FirstView["unavailable"]>} Unavailable
 */

const Snippet = later("Snippet", { part: true });

// The service caches the result for ten seconds. After ten minutes without a view, poll less often.
const POLL_MS = 10_000;
const SLOWLY_AFTER_MS = 600_000;
const SLOWLY_MS = 60_000;
/** If there is no view after this time, something is probably wrong. */
const ADVICE_AFTER_MS = 300_000;

/**
 * Watch for the first view of a site. The worker pushes views hourly, but its database has them within seconds.
 * @param {Site | undefined} site
 * @returns {{
 *   seen: boolean,
 *   bots: boolean,
 *   view: import("../wire").View | null,
 *   unavailable: Unavailable | null,
 *   check: () => void,
 * }} `bots`: only bots have visited; `view`: the view if it is the only one; `unavailable`: why the result is not known
 */
export function useFirstView(site) {
  const waits = site?.state === "active" && site.config === "synced" && !site.first_view_at;
  const read = useResource("GET /v1/sites/{site_id}/first-view", waits ? { site_id: site.id } : null, {
    pace: ({ first_view }, _, since_ms) => (first_view.seen ? null : since_ms < SLOWLY_AFTER_MS ? POLL_MS : SLOWLY_MS),
  });
  const found = read.data?.first_view;
  const seen = Boolean(site?.first_view_at || found?.seen);
  return {
    seen,
    bots: !seen && Boolean(found?.bots),
    view: found?.view ?? null,
    unavailable: found?.unavailable ?? null,
    check: read.again,
  };
}

/** @param {{site: Site, first: ReturnType<typeof useFirstView>}} props */
export function Setup({ site, first }) {
  const words = t().sites;
  const routed = site.state === "active";
  const synced = routed && site.config === "synced";
  const late = synced && Date.now() - Date.parse(site.created_at) > ADVICE_AFTER_MS;
  return (
    <>
      <section aria-labelledby="snippet">
        <h2 id="snippet">{words.snippet}</h2>
        <p>
          {words.snippetHint} <Help to="snippet" />
        </p>
        {site.snippet && <Snippet site={site} snippet={site.snippet} />}
      </section>
      <section aria-labelledby="setup">
        <h2 id="setup">{words.setup}</h2>
        <div role="status">
          <ol class="steps">
            <Step done={routed}>{words.steps.route}</Step>
            <Step done={synced}>{words.steps.config}</Step>
            <Step done={first.seen}>{words.steps.view}</Step>
          </ol>
        </div>
        {first.seen ? (
          <Note kind="good">
            <p class="message">{words.seenLive}</p>
            <p>{first.view ? seenView(first.view) : words.seenText}</p>
          </Note>
        ) : (
          <>
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
          </>
        )}
      </section>
    </>
  );
}

/** @param {import("../wire").View} view @returns {string} who viewed what, as far as it is known */
const seenView = ({ page, country: code, browser }) =>
  t().sites.seenView(country(code, { unknown: t().report.unknownCountry }), page, browser);

/** @param {{done: boolean, children: string}} props */
const Step = ({ done, children }) => (
  <li>
    <Mark kind={done ? "good" : "busy"}>{children}</Mark>
    {!done && <span class="small"> {t().sites.waiting}</span>}
  </li>
);
