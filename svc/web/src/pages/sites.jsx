/** The list of sites. */

import { useEffect, useRef } from "preact/hooks";

import { call } from "../api.js";
import { days, number } from "../format.js";
import { useKept } from "../kept.js";
import { useKeys } from "../keys.js";
import { useResource, whileWorking } from "../resource.js";
import { address, setSearch, visit } from "../router.js";
import { lastWeek } from "../series.js";
import { ListChoices } from "../ui/list-choices.jsx";
import { DataTable } from "../ui/data-table.jsx";
import { FILTERS_FROM, PAGE, useMore } from "../ui/more.jsx";
import { NoAccount } from "../ui/no-account.jsx";
import { Empty, KeyHint, Loaded, Mark, Page, State } from "../ui/parts.jsx";
import { Sparkline } from "../ui/sparkline.jsx";
import { t } from "../words.js";

/**
 * @typedef {import("../wire").Site} Site
 * @typedef {"newest" | "oldest" | "host"} Order
 * @typedef {"active" | "deleted"} Which
 */

const TYPED_MS = 200;
// The Worker pushes the first view of a new site within this time.
const FIRST_REPORT_MS = 2 * 3_600_000;

/** @type {import("../resource.js").Pace} */
const whileAnyWorks = ({ sites }, polls, since_ms) => {
  const waits = sites.map((/** @type {Site} */ site) => whileWorking(site, polls, since_ms) ?? Infinity);
  const wait_ms = Math.min(...waits);
  return wait_ms === Infinity ? null : wait_ms;
};

export function Sites() {
  const words = t().sites;
  const asked = address.value.searchParams;
  const q = asked.get("q") ?? "";
  const order = one(asked.get("order"), /** @type {Order[]} */ (["newest", "oldest", "host"]));
  const state = one(asked.get("state"), /** @type {Which[]} */ (["active", "deleted"]));
  const accounts = useResource("GET /v1/accounts", {});
  const wanted = { q, order, state, limit: PAGE };
  const read = useKept(useResource("GET /v1/sites", wanted, { pace: whileAnyWorks }));
  const { rows, begin, more } = useMore({
    read,
    asked: JSON.stringify(wanted),
    rows: ({ sites }) => sites,
    next: (cursor) => call("GET /v1/sites", { ...wanted, cursor }),
  });

  useKeys([
    { keys: "n", says: t().site.add, does: () => visit("/sites/new") },
    { keys: "r", says: t().common.shortcuts.again, does: begin },
  ]);
  const names = new Map((accounts.data?.accounts ?? []).map(({ id, name }) => [id, name]));
  const plain = q === "" && state === "active";
  const filters = rows.length >= FILTERS_FROM || !plain || order !== "newest";
  const showDeleted = !filters && (
    <p class="small after">
      <a href="?state=deleted">{words.showDeleted}</a>
    </p>
  );
  return (
    <Page
      title={words.title}
      head={
        <a class="button" href="/sites/new">
          {t().site.add} <KeyHint keys="n" />
        </a>
      }
    >
      {filters && <Filters q={q} order={order} state={state} />}
      <Loaded read={read}>
        {() =>
          rows.length > 0 ? (
            <>
              <List rows={rows} names={names} />
              {more}
              {showDeleted}
            </>
          ) : plain && names.size === 0 && accounts.data ? (
            <>
              <NoAccount>{words.emptyAccount}</NoAccount>
              {showDeleted}
            </>
          ) : (
            <>
              <Nothing q={q} state={state} />
              {showDeleted}
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

/** @param {{q: string, state: Which}} props */
function Nothing({ q, state }) {
  const words = t().sites;
  return (
    <Empty>
      <p>{q ? words.notFound(q) : state === "deleted" ? words.noneDeleted : words.empty}</p>
      <p>
        {q || state === "deleted" ? (
          <button type="button" class="quiet" onClick={() => setSearch({ q: null, state: null })}>
            {words.showAll}
          </button>
        ) : (
          <a class="button" href="/sites/new">
            {t().site.add}
          </a>
        )}
      </p>
    </Empty>
  );
}

/** @template T @param {string | null} asked @param {T[]} options @returns {T} the match, or the first option */
const one = (asked, options) => options.find((each) => each === asked) ?? /** @type {T} */ (options[0]);

/** @param {{q: string, order: Order, state: Which}} props */
function Filters({ q, order, state }) {
  const words = t().sites;
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const timer = useRef(0);
  useKeys([{ keys: "/", says: t().common.shortcuts.search, does: () => field.current?.focus() }]);
  useEffect(() => {
    if (field.current && document.activeElement !== field.current) field.current.value = q;
  }, [q]);
  useEffect(() => () => clearTimeout(timer.current), []);
  /** @param {string} text */
  const search = (text, wait_ms = TYPED_MS) => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setSearch({ q: text }), wait_ms);
  };
  /**
   * When the user presses Esc, clear the text. If there is no text, remove the focus from the field.
   * @param {KeyboardEvent & {currentTarget: HTMLInputElement}} event
   */
  const leave = (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    if (event.currentTarget.value === "") event.currentTarget.blur();
    event.currentTarget.value = "";
    search("", 0);
  };
  return (
    <div class="filters" role="search">
      <p class="field">
        <label for="search">
          {words.search} <KeyHint keys="/" />
        </label>
        <input
          id="search"
          type="search"
          ref={field}
          defaultValue={q}
          autoCapitalize="none"
          spellcheck={false}
          onInput={({ currentTarget }) => search(currentTarget.value.trim())}
          onKeyDown={leave}
        />
      </p>
      <ListChoices words={words} order={order} state={state} />
    </div>
  );
}

/** @param {{rows: Site[], names: Map<string, string>}} props `names`: account names by id */
function List({ rows, names }) {
  const words = t().sites;
  const { from, to } = lastWeek(Date.now());
  const week = days(from, to);
  return (
    <DataTable
      label={words.title}
      rows={rows}
      id={({ id }) => id}
      columns={[
        { label: words.site, cell: ({ id, host }) => <a href={`/sites/${id}`}>{host}</a> },
        ...(names.size > 1
          ? [{ label: words.account, cell: (/** @type {Site} */ site) => names.get(site.account_id) ?? "" }]
          : []),
        ...(rows.every((site) => stateOf(site) === null) ? [] : [{ label: words.state, cell: stateOf }]),
        { label: week, cell: ({ series_7d }) => series_7d && <Week series={series_7d} /> },
        { label: words.viewsOf(week), kind: "number primary", cell: ({ views_7d }) => number(views_7d ?? 0) },
      ]}
    />
  );
}

/** @param {{series: number[]}} props */
const Week = ({ series }) => <Sparkline values={series} label={t().sites.days7(series.map(number).join(", "))} />;

/** @param {Site} site @returns the status, or null if there is nothing to report */
function stateOf(site) {
  if (site.disabled) return <State state="disabled" />;
  const [warning] = site.state === "route_conflict" ? [] : site.warnings;
  if (warning) return <Mark kind="watch">{t().dns.short[warning.code] ?? warning.code}</Mark>;
  if (site.state !== "active") return <State state={site.state} />;
  if (site.config === "pending") return <State state="config_pending" />;
  const awaited = Date.now() - Date.parse(site.created_at) < FIRST_REPORT_MS;
  if (!site.first_view_at && !site.views_7d && !awaited) return <Mark kind="watch">{t().sites.noViewYet}</Mark>;
  return null;
}
