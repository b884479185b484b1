/** What was changed, by whom, from where: the newest first, more when they are wanted. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { call } from "../api.js";
import { moment, number } from "../format.js";
import { useKeys } from "../keys.js";
import { useResource } from "../resource.js";
import { useAction } from "../ui/action.js";
import { Rows } from "../ui/list.jsx";
import { Empty, Loaded, Mark, Page, State, Trouble, explain } from "../ui/parts.jsx";
import { t } from "../words.js";

/**
 * @typedef {import("../wire").Event} Event
 * @typedef {Record<string, string | undefined>} Names of objects, by their ids
 */

const PAGE = 50;
/** Where an object is looked at, by how its id begins. */
const PAGES = { acc: "/accounts/", site: "/sites/", lnk: "/links/" };

export function Events() {
  const words = t().events;
  const first = useResource("GET /v1/events", { limit: PAGE });
  const older = useSignal(/** @type {{events: Event[], next_cursor?: string}} */ ({ events: [] }));
  const begin = useRef(0);
  /** @param {{events: Event[], next_cursor?: string}} page @param {number} known how many were shown before it */
  const add = (page, known) => {
    begin.current = known;
    older.value = { ...page, events: [...older.value.events, ...page.events] };
  };
  // What was read anew begins again with its first page.
  const begun = first.data?.events[0]?.id;
  useEffect(() => void (older.value = { events: [] }), [begun]);
  useKeys([{ keys: "r", says: t().common.shortcuts.again, does: first.again }]);
  const names = useNames();
  return (
    <Page title={words.title}>
      <p>{words.intro}</p>
      <Loaded read={first} rows={8}>
        {({ events, next_cursor }) => {
          const all = [...events, ...older.value.events];
          const next = older.value.events.length > 0 ? older.value.next_cursor : next_cursor;
          if (all.length === 0 && !next) {
            return (
              <Empty>
                <p>{words.none}</p>
              </Empty>
            );
          }
          return (
            <>
              <List events={all} names={names} begin={begin.current} />
              {next && <More after={next} take={(page) => add(page, all.length)} />}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

/** @returns {Names} of what is there now; what is deleted has its id */
function useNames() {
  const accounts = useResource("GET /v1/accounts", {}).data?.accounts ?? [];
  const keys = useResource("GET /v1/keys", {}).data?.keys ?? [];
  const sites = useResource("GET /v1/sites", { limit: 100, order: "newest" }).data?.sites ?? [];
  const links = useResource("GET /v1/links", { limit: 100, order: "newest" }).data?.links ?? [];
  return Object.fromEntries([
    ...accounts.map(({ id, name }) => [id, name]),
    ...keys.map(({ id, name, prefix }) => [id, name ?? `${prefix}…`]),
    ...sites.map(({ id, host }) => [id, host]),
    ...links.map(({ id, code }) => [id, code]),
  ]);
}

/** @param {{events: Event[], names: Names, begin: number}} props `begin`: the first of those that were added last */
function List({ events, names, begin }) {
  const words = t().events;
  // Who has asked for more goes on at the first of them.
  useEffect(() => {
    const row = begin > 0 && document.querySelectorAll(".rows tbody th")[begin];
    if (!(row instanceof HTMLElement)) return;
    row.tabIndex = -1;
    row.focus();
  }, [begin]);
  return (
    <Rows
      label={words.title}
      rows={events}
      id={({ id }) => id}
      columns={[
        {
          label: words.what,
          cell: ({ action, count }) => (
            <>
              {words.actions[action] ?? action}
              {count > 1 && ` × ${number(count)}`}
            </>
          ),
        },
        { label: words.target, cell: ({ target }) => <Target id={target} names={names} /> },
        { label: words.when, cell: ({ at }) => <time dateTime={at}>{moment(at)}</time> },
        { label: words.who, cell: ({ via }) => words.via[via] ?? words.byKey(names[via] ?? via) },
        { label: words.from, cell: ({ ip }) => (ip ? <code>{ip}</code> : words.nowhere) },
        { label: words.outcome, cell: (event) => <Outcome of={event} /> },
      ]}
    />
  );
}

/** @param {{id: string | null, names: Names}} props */
function Target({ id, names }) {
  const words = t().events;
  if (id === null) return words.you;
  if (id.startsWith("ses_")) return words.session;
  const page = PAGES[/** @type {keyof typeof PAGES} */ (id.split("_")[0])];
  const name = names[id] ?? <code>{id}</code>;
  return page ? <a href={page + id}>{name}</a> : <span>{name}</span>;
}

/** @param {{of: Event}} props */
function Outcome({ of: { action, outcome } }) {
  const words = t().events;
  if (action === "account.state") return <State of={/** @type {import("../wire").Account["state"]} */ (outcome)} />;
  if (outcome === "done") return <Mark kind="good">{words.done}</Mark>;
  if (outcome === "accepted") return <Mark kind="busy">{words.accepted}</Mark>;
  return (
    <span title={explain({ code: outcome }).message}>
      <Mark kind="watch">
        <code>{outcome}</code>
      </Mark>
    </span>
  );
}

/** @param {{after: string, take: (page: {events: Event[], next_cursor?: string}) => void}} props */
function More({ after, take }) {
  const { busy, error, run } = useAction();
  return (
    <>
      {error && <Trouble error={error} />}
      <p class="after">
        <button
          type="button"
          class="quiet"
          aria-disabled={busy}
          onClick={() =>
            run(async () => {
              take(await call("GET /v1/events", { after, limit: PAGE }));
            })
          }
        >
          {busy ? t().common.busy : t().events.more}
        </button>
      </p>
    </>
  );
}
