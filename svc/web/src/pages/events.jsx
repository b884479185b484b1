/** The activity page, newest events first, loaded page by page. */

import { call } from "../api.js";
import { grouped, isStateChange, latest } from "../event-groups.js";
import { moment, number } from "../format.js";
import { useKeys } from "../keys.js";
import { useResource } from "../resource.js";
import { address, setSearch } from "../router.js";
import { DataTable } from "../ui/data-table.jsx";
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
  const withStates = address.value.searchParams.get("states") === "on";
  const groups = grouped(rows);
  const shown = withStates ? groups : groups.filter((group) => !isStateChange(group));
  return (
    <Page title={words.title}>
      <p>{words.intro}</p>
      <p>
        <label class="check">
          <input
            type="checkbox"
            checked={withStates}
            onChange={(event) => setSearch({ states: event.currentTarget.checked ? "on" : null })}
          />{" "}
          {words.withStates}
        </label>
      </p>
      <Loaded read={read} rows={8}>
        {() =>
          rows.length === 0 && !more ? (
            <Empty>
              <p>{words.none}</p>
            </Empty>
          ) : (
            <>
              <List groups={shown} names={names} />
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

/** @param {{groups: import("../event-groups.js").Group[], names: Names}} props */
function List({ groups, names }) {
  const words = t().events;
  return (
    <DataTable
      label={words.title}
      rows={groups}
      id={({ id }) => id}
      columns={[
        {
          label: words.what,
          cell: ({ event: { action, count }, changes }) => (
            <>
              {words.actions[action] ?? action}
              {count > 1 && ` × ${number(count)}`}
              {changes.length > 0 && <Changes changes={changes} />}
            </>
          ),
        },
        { label: words.target, kind: "bare", cell: ({ event: { target } }) => <Target id={target} names={names} /> },
        { label: words.when, kind: "bare", cell: ({ event: { at } }) => <time dateTime={at}>{moment(at)}</time> },
        {
          label: words.who,
          kind: "bare",
          cell: ({ event: { via } }) => words.via[via] ?? words.byKey(names[via] ?? via),
        },
        { label: words.from, cell: ({ event: { ip } }) => (ip ? <code>{ip}</code> : words.nowhere) },
        { label: words.outcome, kind: "primary", cell: (group) => <Outcome event={latest(group)} /> },
      ]}
    />
  );
}

/** @param {{changes: Event[]}} props the status changes of an operation, oldest first */
const Changes = ({ changes }) => (
  <details class="small">
    <summary>{t().events.changes(changes.length)}</summary>
    <ul>
      {changes.toReversed().map((event) => (
        <li key={event.id}>
          <Outcome event={event} /> <time dateTime={event.at}>{moment(event.at)}</time>
        </li>
      ))}
    </ul>
  </details>
);

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
