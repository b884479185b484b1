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

/** @typedef {import("../wire").NamedEvent} Event */

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
              <List groups={shown} />
              {more}
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

/** @param {{groups: import("../event-groups.js").Group[]}} props */
function List({ groups }) {
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
        { label: words.target, kind: "bare", cell: ({ event }) => <Target event={event} /> },
        { label: words.when, kind: "bare", cell: ({ event: { at } }) => <time dateTime={at}>{moment(at)}</time> },
        {
          label: words.who,
          kind: "bare",
          cell: ({ event: { via, via_name } }) => words.via[via] ?? words.byKey(via_name ?? via),
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

/** @param {{event: Event}} props an object that no longer exists is shown by its ID */
function Target({ event: { target: id, target_name } }) {
  const words = t().events;
  if (id === null) return words.you;
  if (id.startsWith("ses_")) return words.session;
  const page = PAGES[/** @type {keyof typeof PAGES} */ (id.split("_")[0])];
  const name = target_name ?? <code>{id}</code>;
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
