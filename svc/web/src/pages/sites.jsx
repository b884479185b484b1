/** The list of sites. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { call } from "../api.js";
import { number } from "../format.js";
import { useKept } from "../kept.js";
import { useKeys } from "../keys.js";
import { useResource, whileWorking } from "../resource.js";
import { address, go, setSearch } from "../router.js";
import { Rows } from "../ui/list.jsx";
import { Empty, Loaded, Mark, Page, State, Trouble } from "../ui/parts.jsx";
import { Sparkline } from "../ui/sparkline.jsx";
import { t } from "../words.js";

/**
 * @typedef {import("../wire").Site} Site
 * @typedef {import("../wire").SiteList} SiteList
 * @typedef {"newest" | "oldest" | "host"} Order
 * @typedef {"active" | "deleted"} Which
 */

const AT_ONCE = 50;
const TYPED_MS = 200;

/** @type {import("../resource.js").Pace} */
const whileAnyWorks = ({ sites }, looks, since_ms) => {
  const waits = sites.map((/** @type {Site} */ site) => whileWorking(site, looks, since_ms) ?? Infinity);
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
  const wanted = { q, order, state, limit: AT_ONCE };
  const read = useKept(useResource("GET /v1/sites", wanted, { pace: whileAnyWorks }));

  useKeys([
    { keys: "n", says: words.add, does: () => go("/sites/new") },
    { keys: "r", says: t().common.shortcuts.again, does: read.again },
  ]);
  const names = new Map((accounts.data?.accounts ?? []).map(({ id, name }) => [id, name]));
  const plain = q === "" && state === "active";
  return (
    <Page
      title={words.title}
      head={
        <a class="button" href="/sites/new">
          {words.add}
        </a>
      }
    >
      {!(plain && read.data?.sites.length === 0) && <Filters q={q} order={order} state={state} />}
      <Loaded read={read}>
        {(list) =>
          list.sites.length > 0 ? (
            <List key={JSON.stringify(wanted)} first={list} old={read.loading} wanted={wanted} names={names} />
          ) : (
            <Empty>
              <p>{q ? words.notFound(q) : state === "deleted" ? words.noneDeleted : words.empty}</p>
              {plain && names.size === 0 && accounts.data && (
                <p>
                  {words.emptyAccount} <a href="/accounts/connect">{t().accounts.connect}</a>
                </p>
              )}
            </Empty>
          )
        }
      </Loaded>
    </Page>
  );
}

/** @template T @param {string | null} asked @param {T[]} of @returns {T} the first, where another was asked for */
const one = (asked, of) => of.find((each) => each === asked) ?? /** @type {T} */ (of[0]);

/** @param {{q: string, order: Order, state: Which}} props */
function Filters({ q, order, state }) {
  const words = t().sites;
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const timer = useRef(0);
  useKeys([{ keys: "/", says: t().common.shortcuts.search, does: () => field.current?.focus() }]);
  useEffect(() => {
    if (field.current && document.activeElement !== field.current) field.current.value = q;
  }, [q]);
  /** @param {string} text */
  const search = (text, wait_ms = TYPED_MS) => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setSearch({ q: text }), wait_ms);
  };
  /** @param {KeyboardEvent & {currentTarget: HTMLInputElement}} event Esc clears what was typed, then leaves */
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
          {words.search} <kbd aria-hidden="true">/</kbd>
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
      <Choice id="order" label={words.order} of={order} from={words.orders} />
      <Choice id="state" label={words.which} of={state} from={words.whiches} />
    </div>
  );
}

/** @param {{id: string, label: string, of: string, from: Record<string, string>}} props its choice is in the address */
const Choice = ({ id, label, of, from }) => (
  <p class="field">
    <label for={id}>{label}</label>
    <select
      id={id}
      value={of}
      onChange={({ currentTarget: { value } }) => setSearch({ [id]: value === Object.keys(from)[0] ? null : value })}
    >
      {Object.entries(from).map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  </p>
);

/**
 * @param {{
 *   first: SiteList,
 *   old: boolean,
 *   wanted: {q: string, order: Order, state: Which, limit: number},
 *   names: Map<string, string>,
 * }} props `old`: what is wanted is still being read; `names`: of the accounts by their ids
 */
function List({ first, old, wanted, names }) {
  const words = t().sites;
  const more = useSignal(/** @type {{sites: Site[], cursor: string | undefined} | null} */ (null));
  const busy = useSignal(false);
  const failed = useSignal(/** @type {any} */ (null));
  const cursor = old ? undefined : more.value ? more.value.cursor : first.next_cursor;
  // A site that has moved on between two looks is shown once.
  const rows = [...new Map([...first.sites, ...(more.value?.sites ?? [])].map((site) => [site.id, site])).values()];
  const show = async () => {
    if (busy.value || !cursor) return;
    busy.value = true;
    failed.value = null;
    const at = rows.length;
    try {
      const next = await call("GET /v1/sites", { ...wanted, cursor });
      more.value = { sites: [...(more.value?.sites ?? []), ...next.sites], cursor: next.next_cursor };
      requestAnimationFrame(() => {
        const link = document.querySelectorAll(".rows tbody tr")[at]?.querySelector("a");
        link?.focus();
      });
    } catch (error) {
      failed.value = error;
    }
    busy.value = false;
  };
  return (
    <>
      <Rows
        label={words.title}
        rows={rows}
        id={({ id }) => id}
        columns={[
          { label: words.site, cell: ({ id, host }) => <a href={`/sites/${id}`}>{host}</a> },
          ...(names.size > 1
            ? [{ label: words.account, cell: (/** @type {Site} */ site) => names.get(site.account_id) ?? "" }]
            : []),
          { label: words.state, cell: (site) => <SiteState site={site} /> },
          { label: words.week, cell: ({ series_7d }) => series_7d && <Week series={series_7d} /> },
          { label: words.views7d, number: true, cell: ({ views_7d }) => number(views_7d ?? 0) },
        ]}
      />
      {failed.value && <Trouble error={failed.value} />}
      {cursor && (
        <p class="actions">
          <button type="button" class="quiet" aria-disabled={busy.value} onClick={show}>
            {busy.value ? t().common.busy : t().common.more(AT_ONCE)}
          </button>
        </p>
      )}
    </>
  );
}

/** @param {{series: number[]}} props */
const Week = ({ series }) => <Sparkline values={series} label={t().sites.days7(series.map(number).join(", "))} />;

/** @param {{site: Site}} props */
function SiteState({ site }) {
  if (site.state !== "active") return <State of={site.state} />;
  if (site.config === "pending") return <State of="config_pending" />;
  if (!site.first_view_at && !site.views_7d) return <Mark kind="watch">{t().sites.noViewYet}</Mark>;
  return <State of="active" />;
}
