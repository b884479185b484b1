/** The section with an account's statement of counts. */

import { useSignal } from "@preact/signals";

import { list, longDay, number } from "../format.js";
import { useResource } from "../resource.js";
import { address, setSearch } from "../router.js";
import { Help } from "../ui/help.jsx";
import { DataTable } from "../ui/data-table.jsx";
import { Loaded, Mark } from "../ui/parts.jsx";
import { t } from "../words.js";
import { COUNT_LIMIT, reasons } from "./account-facts.jsx";

/** @typedef {import("../wire").LedgerTarget} Target */

/**
 * The ledger of a day. It is loaded only on request, because the service reads it from the account's database.
 * @param {{id: string}} props
 */
export function Ledger({ id }) {
  const words = t().account.ledger;
  const day = address.value.searchParams.get("day") ?? "";
  const today = new Date().toISOString().slice(0, 10);
  return (
    <section aria-labelledby="ledger">
      <h2 id="ledger">{words.title}</h2>
      <p>
        {words.intro} <Help to="ledger" />
      </p>
      {day === "" ? (
        <p>
          <button type="button" class="quiet" onClick={() => setSearch({ day: today })}>
            {words.show}
          </button>
        </p>
      ) : (
        <>
          <p class="field column">
            <label for="ledger-day">{words.day}</label>
            <input
              id="ledger-day"
              type="date"
              max={today}
              value={day}
              onChange={(event) => event.currentTarget.value && setSearch({ day: event.currentTarget.value })}
            />
          </p>
          <Statement key={day} id={id} day={day} />
        </>
      )}
    </section>
  );
}

/** @param {{id: string, day: string}} props */
function Statement({ id, day }) {
  const words = t().account.ledger;
  const read = useResource("GET /v1/accounts/{account_id}/ledger", { account_id: id, day });
  const names = useNames(id);
  const shown = useSignal(COUNT_LIMIT);
  return (
    <Loaded read={read}>
      {({ ledger }) => {
        const { targets, agrees, closed, unavailable, platform_requests: platform } = ledger;
        const lost = reasons(ledger.dropped ?? {});
        // Show targets whose numbers differ first.
        const sorted = targets.toSorted((a, b) => Number(a.agrees !== false) - Number(b.agrees !== false));
        return (
          <>
            <p role="status" class="result">
              <strong>{longDay(ledger.day)}</strong>{" "}
              {unavailable ? (
                <Mark kind="none">{words.unavailable[unavailable]}</Mark>
              ) : targets.length === 0 ? (
                <Mark kind="none">{words.nothing}</Mark>
              ) : (
                <Mark kind={agrees ? "good" : "bad"}>{agrees ? words.all : words.differs}</Mark>
              )}{" "}
              {closed === false && words.open}
            </p>
            {targets.length > 0 && <Targets rows={sorted.slice(0, shown.value)} names={names} />}
            {targets.length > shown.value && (
              <p>
                <button type="button" class="quiet" onClick={() => (shown.value += COUNT_LIMIT)}>
                  {t().common.more(Math.min(COUNT_LIMIT, targets.length - shown.value))}
                </button>
              </p>
            )}
            {lost.length > 0 && <p>{words.lost(lost)}</p>}
            <p class="small">
              {platform ? words.platform(platform.estimate, platform.at_least, platform.at_most) : words.notPlatform}
            </p>
          </>
        );
      }}
    </Loaded>
  );
}

/** @param {string} id @returns {Map<string, string>} the names of the account's sites and links, by id */
function useNames(id) {
  const sites = useResource("GET /v1/sites", { account_id: id, limit: COUNT_LIMIT }).data?.sites ?? [];
  const links = useResource("GET /v1/links", { account_id: id, limit: COUNT_LIMIT }).data?.links ?? [];
  return new Map([
    ...sites.map((site) => /** @type {const} */ ([site.id, site.host])),
    ...links.map((link) => /** @type {const} */ ([link.id, `/${link.code}`])),
  ]);
}

/** @param {{rows: Target[], names: Map<string, string>}} props */
function Targets({ rows, names }) {
  const words = t().account.ledger;
  /** @param {"accepted" | "waiting" | "counted" | "pushed" | "stored"} name */
  const counts = (name) => ({
    label: words[name],
    kind: /** @type {const} */ ("number"),
    cell: (/** @type {Target} */ row) => <Counts counts={row[name]} />,
  });
  return (
    <DataTable
      label={words.title}
      rows={rows}
      id={({ id }) => id}
      columns={[
        {
          label: words.target,
          cell: ({ id }) => <a href={`/${id.startsWith("lnk") ? "links" : "sites"}/${id}`}>{names.get(id) ?? id}</a>,
        },
        counts("accepted"),
        { label: words.dropped, kind: "number", cell: ({ dropped }) => (dropped ? lines(reasons(dropped)) : "–") },
        counts("waiting"),
        counts("counted"),
        counts("pushed"),
        counts("stored"),
        { label: words.agrees, kind: "primary", cell: (row) => <Agrees target={row} /> },
      ]}
    />
  );
}

/** @param {string[]} parts */
const lines = (parts) => (parts.length === 0 ? number(0) : list(parts));

/** @param {{counts: import("../wire").EventCounts | null}} props */
function Counts({ counts }) {
  if (!counts) return <>–</>;
  return (
    <span>
      {number(counts.views)}
      <span class="also hint">{t().account.ledger.bots(counts.bots)}</span>
    </span>
  );
}

/** @param {{target: Target}} props */
function Agrees({ target: { agrees, fault, off_by } }) {
  const words = t().account.ledger;
  if (agrees === null) return <>–</>;
  if (agrees) return <Mark kind="good">{words.yes}</Mark>;
  return (
    <span>
      <Mark kind="bad">{fault ? words.faults[fault] : "–"}</Mark>
      {off_by && <span class="also hint">{words.offBy(number(off_by.views), number(off_by.bots))}</span>}
    </span>
  );
}
