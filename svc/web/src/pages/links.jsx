/** The list of links. The service searches and sorts it. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { call } from "../api.js";
import { useKept } from "../kept.js";
import { useKeys } from "../keys.js";
import { useResource, whileWorking } from "../resource.js";
import { address, setSearch, visit } from "../router.js";
import { Choice } from "../ui/choice.jsx";
import { ListChoices } from "../ui/list-choices.jsx";
import { underWay } from "../ui/link-acts.jsx";
import { ActiveLinks, DeletedLinks } from "../ui/link-table.jsx";
import { FILTERS_FROM, PAGE, useMore } from "../ui/more.jsx";
import { NoAccount } from "../ui/no-account.jsx";
import { Empty, KeyHint, Loaded, Page } from "../ui/parts.jsx";
import { TagFilter } from "../ui/tag-filter.jsx";
import { t } from "../words.js";

/**
 * @typedef {import("../wire").Link} Link
 * @typedef {"newest" | "clicks" | "code" | "oldest"} Order
 * @typedef {"active" | "broken" | "deleted"} Which
 * @typedef {{q: string, tag: string, order: Order, account_id: string, state: Which}} Wanted the query of the URL
 */

const SEARCH_AFTER_MS = 250;
// The service accepts search texts of at most 50 characters, so only the beginning of a longer pasted URL is searched
// for.
const LONGEST_Q = 50;
const ADDRESS = /^(https?:\/\/\S+|[^\s/]+\.[^\s/]{2,}\/\S*)$/i;

/** @returns {Wanted} */
function wanted() {
  const search = address.value.searchParams;
  const order = search.get("order") ?? "";
  return {
    q: search.get("q") ?? "",
    tag: search.get("tag") ?? "",
    order: /** @type {Order} */ (order in t().links.orders ? order : "newest"),
    account_id: search.get("account_id") ?? "",
    state: /** @type {Which} */ (["broken", "deleted"].find((which) => which === search.get("state")) ?? "active"),
  };
}

/** @type {import("../resource.js").Pace} */
const whileAnyIsUnderWay = ({ links }, polls, since_ms) =>
  links.some((/** @type {Link} */ link) => link.state === "active" && underWay(link))
    ? whileWorking({ config: "pending" }, polls, since_ms)
    : null;

export function Links() {
  const words = t().links;
  const asked = wanted();
  const accounts = useResource("GET /v1/accounts", {});
  useKeys([{ keys: "n", says: words.newKey, does: () => visit("/links/new") }]);
  return (
    <Page
      title={words.title}
      head={
        <span class="actions">
          <a class="button quiet" href="/links/import">
            {t().link.import}
          </a>
          <a class="button" href="/links/new">
            {t().link.add} <KeyHint keys="n" />
          </a>
        </span>
      }
    >
      {accounts.data?.accounts.length === 0 && asked.state === "active" ? (
        <>
          <NoAccount>{words.noAccount}</NoAccount>
          <p>
            <a href="?state=deleted">{t().link.showDeleted}</a>
          </p>
        </>
      ) : (
        <Found wanted={asked} accounts={accounts.data?.accounts ?? []} />
      )}
    </Page>
  );
}

/** The search field. Input updates the URL after a short delay. @param {{q: string}} props */
function Search({ q }) {
  const words = t().links;
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const typed = useSignal(q);
  const timer = useRef(0);
  useKeys([{ keys: "/", says: t().common.shortcuts.search, does: () => field.current?.select() }]);
  useEffect(() => {
    // Do not replace the text in the field while the user types.
    if (q !== typed.peek().trim() && document.activeElement !== field.current) typed.value = q;
  }, [q]);
  useEffect(() => () => clearTimeout(timer.current), []);
  /** @param {string} text */
  const type = (text) => {
    typed.value = text;
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setSearch({ q: text.trim() }), SEARCH_AFTER_MS);
  };
  const text = typed.value.trim();
  const make = ADDRESS.test(text) && `/links/new?url=${encodeURIComponent(text)}`;
  return (
    <p class="field">
      <label for="link-search">
        {words.search} <KeyHint keys="/" />
      </label>
      <input
        ref={field}
        id="link-search"
        type="search"
        placeholder={words.searchHint}
        autocomplete="off"
        autoCapitalize="none"
        spellcheck={false}
        value={typed.value}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && make) visit(make);
          if (event.key !== "Escape") return;
          event.preventDefault();
          if (text) type("");
          else event.currentTarget.blur();
        }}
      />
      <span role="status">{make && <a href={make}>{words.shorten}</a>}</span>
    </p>
  );
}

/**
 * The search field, the filters and the results. Previous results stay visible until new results have loaded.
 * @param {{wanted: Wanted, accounts: import("../wire").Account[]}} props
 */
function Found({ wanted: { q, tag, order, account_id, state }, accounts }) {
  const words = t().links;
  const which = state === "broken" ? { broken: true } : { state };
  const params = { q: q.slice(0, LONGEST_Q), tag, order, account_id, ...which, limit: PAGE };
  const read = useKept(useResource("GET /v1/links", params, { pace: whileAnyIsUnderWay }));
  const { rows, begin, more } = useMore({
    read,
    asked: JSON.stringify(params),
    rows: ({ links }) => links,
    next: (cursor) => call("GET /v1/links", { ...params, cursor }),
  });
  useKeys([{ keys: "r", says: t().common.shortcuts.again, does: begin }]);
  const isPlain = q === "" && tag === "" && order === "newest" && account_id === "" && state === "active";
  const choices = rows.length >= FILTERS_FROM || !isPlain;
  return (
    <>
      <div class="link-search">
        <Search q={q} />
        {choices && <ListChoices words={words} order={order} state={state} />}
        {choices && accounts.length > 1 && (
          <Choice
            label={words.account}
            value={account_id}
            options={{ "": words.allAccounts, ...Object.fromEntries(accounts.map(({ id, name }) => [id, name])) }}
            choose={(chosen) => setSearch({ account_id: chosen })}
          />
        )}
      </div>
      <TagFilter tag={tag} />
      <Loaded read={read} rows={8}>
        {() => (
          <div aria-busy={read.loading}>
            {state !== "deleted" ? (
              <ActiveLinks
                // Each list has a separate selection, because "all links" means all links of the list that is shown.
                key={state}
                links={rows}
                filter={{ account_id, q: params.q, tag }}
                // The list of broken links does not offer to select all links, because requests for many links have
                // no filter for broken links.
                hasMore={more !== null && state === "active"}
                nothing={<Nothing q={q} tag={tag} state={state} />}
              />
            ) : (
              <DeletedLinks links={rows} nothing={<Nothing q={q} tag={tag} state={state} />} />
            )}
            {more}
            {!choices && (
              <p class="small after">
                <a href="?state=deleted">{t().link.showDeleted}</a>
              </p>
            )}
          </div>
        )}
      </Loaded>
    </>
  );
}

/** @param {{q: string, tag: string, state: Which}} props */
function Nothing({ q, tag, state }) {
  const words = t().links;
  if (q === "" && tag === "") {
    return (
      <Empty>
        <p>{{ active: words.none, broken: words.noneBroken, deleted: words.noneDeleted }[state]}</p>
        {state === "active" && (
          <p>
            <a class="button" href="/links/new">
              {t().link.add}
            </a>
          </p>
        )}
      </Empty>
    );
  }
  return (
    <Empty>
      <p>{q === "" ? t().linkFields.noneTagged(tag) : words.noneFound(q)}</p>
      <p>
        <button type="button" class="quiet" onClick={() => setSearch({ q: null, tag: null })}>
          {words.showAll}
        </button>
      </p>
    </Empty>
  );
}
