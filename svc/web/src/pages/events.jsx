/** The activity page, newest events first, loaded page by page. */

import { call } from "../api.js";
import { moment, number } from "../format.js";
import { useKeys } from "../keys.js";
import { useResource } from "../resource.js";
import { Rows } from "../ui/list.jsx";
import { PAGE, useMore } from "../ui/more.jsx";
import { Empty, Loaded, Mark, Page, State, explain } from "../ui/parts.jsx";
import { t } from "../words.js";

/**
 * @typedef {import("../wire").Event} Event
 * @typedef {Record<string, string | undefined>} Names of objects, by id
 */

/** The page of an object, by the prefix of its id. */
const PAGES = { acc: "/accounts/", site: "/sites/", lnk: "/links/" };

export function Events() {
  const words = t().events;
  const read = useResource("GET /v1/events", { limit: PAGE });
  const { rows, begin, more } = useMore({
    read,
    asked: "",
    rows: ({ events }) => events,
    next: (after) => call("GET /v1/events", { after, limit: PAGE }),
  });
  useKeys([{ keys: "r", says: t().common.shortcuts.again, does: begin }]);
  const names = useNames();
  return (
    <Page title={words.title}>
      <p>{words.intro}</p>
      <Loaded read={read} rows={8}>
        {() =>
          rows.length === 0 && !more ? (
            <Empty>
              <p>{words.none}</p>
            </Empty>
          ) : (
            <>
              <List events={rows} names={names} />
              {more}
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

/** @returns {Names} of existing objects; deleted objects are shown by id */
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

/** @param {{events: Event[], names: Names}} props */
function List({ events, names }) {
  const words = t().events;
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
        { label: words.outcome, cell: (event) => <Outcome event={event} /> },
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

/** @param {{event: Event}} props */
function Outcome({ event: { action, outcome } }) {
  const words = t().events;
  if (action === "account.state") return <State state={/** @type {import("../wire").Account["state"]} */ (outcome)} />;
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
