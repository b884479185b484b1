/**
 * All shared components in all their states, for visual review. Only a demonstration serves this page. Its sample texts
 * are in English; the components' own texts are in the reader's language.
 */

import { useSignal } from "@preact/signals";

import { ApiError } from "../http.js";
import { addDays, slotsOf } from "../series.js";
import { Attention } from "../ui/attention.jsx";
import { Breakdowns } from "../ui/breakdowns.jsx";
import { Change } from "../ui/change.jsx";
import { Chart } from "../ui/chart.jsx";
import { Choice } from "../ui/choice.jsx";
import { CountryPicker, inWords } from "../ui/countries.jsx";
import { DataTable } from "../ui/data-table.jsx";
import { Confirm, Dialog } from "../ui/dialog.jsx";
import { DisabledNote } from "../ui/disabled.jsx";
import { Check, Field, Form, Group, Password } from "../ui/form.jsx";
import { Gauge } from "../ui/gauge.jsx";
import { Icon } from "../ui/icons.jsx";
import { Menu } from "../ui/menu.jsx";
import { Marks, NoteList } from "../ui/notes.jsx";
import { Copy, Empty, ErrorMessage, KeyHint, Mark, Note, Page, Skeleton, State } from "../ui/parts.jsx";
import { Periods } from "../ui/periods.jsx";
import { RangePicker, StatementBadge } from "../ui/report-parts.jsx";
import { Sparkline } from "../ui/sparkline.jsx";
import { Totals } from "../ui/totals.jsx";
import { t } from "../words.js";

/** @typedef {import("../series.js").Slot} Slot */

const DAYS = 30;
const LONG_HOST = "a-very-long-host-name.department.subsidiary.example.co.uk";

export function Components() {
  return (
    <Page title="Components">
      <Buttons />
      <States />
      <Messages />
      <Fields />
      <Tables />
      <Figures />
      <Report />
    </Page>
  );
}

/** @param {{title: string, children: import("preact").ComponentChildren}} props */
const Part = ({ title, children }) => (
  <section class="component">
    <h2>{title}</h2>
    {children}
  </section>
);

function Buttons() {
  const open = useSignal(/** @type {"dialog" | "confirmation" | null} */ (null));
  const close = () => void (open.value = null);
  return (
    <Part title="Buttons and dialogs">
      <p class="actions">
        <button type="button">Save</button>
        <button type="button" class="quiet">
          Cancel
        </button>
        <button type="button" class="danger">
          Delete
        </button>
        <button type="button" aria-disabled="true">
          Saving…
        </button>
        <a class="button quiet" href="/components">
          Link
        </a>
        <Copy text="https://go.shop.example/hello" />
        <button type="button">
          With a shortcut <KeyHint keys="n" />
        </button>
        <button type="button" class="quiet icon-button" aria-label="Edit" title="Edit">
          <Icon name="edit" />
        </button>
        <Menu
          label="More actions"
          items={[
            { text: "Rename", does: () => {} },
            { text: "Renew token", does: () => {}, disabled: true },
            { text: "Disconnect", does: () => {}, danger: true },
          ]}
        />
      </p>
      <p class="actions">
        <button type="button" class="quiet" onClick={() => (open.value = "dialog")}>
          Open dialog
        </button>
        <button type="button" class="quiet" onClick={() => (open.value = "confirmation")}>
          Open confirmation
        </button>
      </p>
      {open.value === "dialog" && (
        <Dialog title="Dialog" close={close}>
          <p>A dialog with a long word: {LONG_HOST}</p>
          <p class="actions">
            <button type="button" data-first onClick={close}>
              {t().common.cancel}
            </button>
          </p>
        </Dialog>
      )}
      {open.value === "confirmation" && (
        <Confirm title="Delete shop.example?" submit="Delete site" send={async () => close()} close={close}>
          <p>The confirmation explains what happens.</p>
        </Confirm>
      )}
    </Part>
  );
}

function States() {
  const names = /** @type {(keyof import("../ui/parts.jsx").StateWords)[]} */ (Object.keys(t().common.states));
  return (
    <Part title="States">
      <ul>
        {names.map((name) => (
          <li key={name}>
            <State state={name} /> <code>{name}</code>
          </li>
        ))}
      </ul>
      <p class="actions">
        {
          /** @type {const} */ (["good", "busy", "watch", "bad", "none"]).map((kind) => (
            <Mark key={kind} kind={kind}>
              {kind}
            </Mark>
          ))
        }
      </p>
    </Part>
  );
}

function Messages() {
  return (
    <Part title="Messages">
      <Note>A plain note.</Note>
      <Note kind="good">A note about a success.</Note>
      <Note kind="watch">A note about a warning.</Note>
      <Note kind="bad">A note about a problem.</Note>
      <DisabledNote kind="site" disabled={{ at: "2026-11-20T10:00:00Z", reason: "Phishing" }} />
      <ErrorMessage error={{ code: "account_not_ready" }} />
      <ErrorMessage error={new ApiError("offline")} again={() => {}} />
      <ErrorMessage error={{ code: "internal", details: { id: "req_example" } }} again={() => {}} />
      <Empty>
        <p>An empty list says what will appear.</p>
        <p class="actions">
          <a class="button" href="/components">
            Next step
          </a>
        </p>
      </Empty>
      <Skeleton rows={2} />
      <Attention
        needs={[
          { href: "/components", name: "Shop", mark: <State state="no_connection" />, texts: ["What to do."] },
          {
            href: "/components",
            name: LONG_HOST,
            mark: <State state="route_conflict" />,
            texts: ["What to do.", null],
          },
        ]}
      />
    </Part>
  );
}

/** The errors that the form shows after the user presses "Save". */
const REFUSED = new ApiError("invalid_request", "", {
  details: {
    issues: [
      { path: "host", code: "wrong_form" },
      { path: "password", code: "too_short", limit: 8 },
      { path: "scopes", code: "too_few", limit: 1 },
    ],
  },
});

function Fields() {
  const order = useSignal(/** @type {"newest" | "oldest"} */ ("newest"));
  const countries = useSignal(["DE", "AT", "CH", "LI"]);
  const refuse = () => Promise.reject(REFUSED);
  return (
    <Part title="Form">
      <Form send={refuse} submit="Save" guard={false} more={<a href="/components">Another action</a>}>
        <Field name="host" label="Host" hint="A hint explains the field." pasted="host" />
        <Field name="code" label="Code" prefix="go.shop.example/" optional />
        <Field name="notes" label="Notes" area rows={3} />
        <Field name="location" label="Location">
          <option>Automatic</option>
          <option>Europe</option>
        </Field>
        <Password name="password" label="Password" autocomplete="off" />
        <Group name="scopes" legend="Permissions" hint="A hint explains the group.">
          <Check name="scope" label="Reports" checked />
          <Check name="scope" label="Links" />
          <Check name="kind" type="radio" label="One of several" />
        </Group>
        <Field name="off" label="Unavailable" disabled />
        <Field name="file" label="File" type="file" />
        <p>
          <CountryPicker
            text={inWords(countries.value)}
            label={`Countries: ${inWords(countries.value)}`}
            chosen={countries.value}
            choose={(codes) => (countries.value = codes)}
          />
        </p>
      </Form>
      <Choice
        label="Order"
        value={order.value}
        options={{ newest: "Newest", oldest: "Oldest" }}
        choose={(value) => (order.value = value)}
      />
    </Part>
  );
}

const ROWS = [
  { host: "shop.example", state: /** @type {const} */ ("active"), views: 1_234_567, before: 1_003_713 },
  { host: LONG_HOST, state: /** @type {const} */ ("route_pending"), views: 0, before: 12 },
  { host: "new.example", state: /** @type {const} */ ("route_conflict"), views: 7, before: null },
];

function Tables() {
  return (
    <Part title="Table">
      <DataTable
        label="Sites"
        rows={ROWS}
        id={({ host }) => host}
        columns={[
          { label: "Site", cell: ({ host }) => <a href="/components">{host}</a> },
          { label: "Status", cell: ({ state }) => <State state={state} /> },
          { label: "Days", cell: () => <Sparkline values={[3, 0, 8, 13, 9, 2, 5]} label="Views per day" /> },
          { label: "Views", kind: "number primary", cell: ({ views }) => views },
          {
            label: "Change",
            kind: "number",
            cell: ({ views, before }) => <Change now={views} before={before} brief />,
          },
          {
            label: "Actions",
            kind: "bare",
            cell: () => (
              <button type="button" class="quiet icon-button" aria-label="Copy" title="Copy">
                <Icon name="copy" />
              </button>
            ),
          },
        ]}
      />
    </Part>
  );
}

function Figures() {
  return (
    <Part title="Gauges and small charts">
      {[0, 0.34, 0.82, 1.2].map((part) => (
        <Gauge key={part} label="Requests" text={`${100 * part} percent of the limit`} part={part} />
      ))}
      <p>
        <Sparkline values={Array.from({ length: 30 }, (_, i) => (i * 7) % 11)} label="Views per day" />
      </p>
      <p class="actions">
        <Change now={123} before={100} /> <Change now={50} before={100} /> <Change now={100} before={100} />{" "}
        <Change now={7} before={null} />
      </p>
    </Part>
  );
}

/** @param {number} i @returns {import("../series.js").Counts} invented counts that vary */
const counts = (i) => ({ views: 40 + ((i * 37) % 61), visitors: 22 + ((i * 23) % 31), bots: (i * 11) % 17 });

const TOTALS = { views: 1_083, visitors: 640, bots: 24 };
/** Values for the fields of a report that the charts do not use. */
const NONE = { as_of: null, incomplete: false, breakdowns: null, breakdowns_from: null, unavailable: null };

/** @returns {import("../wire").Report} of the last 30 days */
function monthReport() {
  const to = new Date().toISOString().slice(0, 10);
  /** @param {string} from @param {number} offset */
  const series = (from, offset) =>
    Array.from({ length: DAYS }, (_, i) => ({ at: `${addDays(from, i)}T00:00:00Z`, ...counts(i + offset) }));
  const from = addDays(to, 1 - DAYS);
  const before = addDays(from, -DAYS);
  const totals = { views: 990, visitors: 702, bots: 24 };
  const comparison = { from: before, to: addDays(from, -1), series: series(before, 3), totals };
  return { ...NONE, period: "30d", from, to, by: "day", series: series(from, 0), totals: TOTALS, comparison };
}

/** @returns {import("../wire").Report} of today, without numbers for future hours */
function todayReport() {
  const now = new Date();
  const day = now.toISOString().slice(0, 10);
  const series = Array.from({ length: now.getUTCHours() + 1 }, (_, hour) => ({
    at: `${day}T${String(hour).padStart(2, "0")}:00:00Z`,
    ...counts(hour),
  }));
  return { ...NONE, period: "today", from: day, to: day, by: "hour", series, totals: TOTALS };
}

/** @param {[string, number][]} entries */
const top = (...entries) => entries.map(([key, n]) => ({ key, n }));

/** @type {import("../wire").Breakdowns} */
const LISTS = {
  pages: top(
    ["/", 812],
    ["/a/very/long/path/that/does/not/fit/into/one/line/of/a/narrow/column", 240],
    ["(other)", 31],
  ),
  sources: top(["", 501], ["google.com", 322], ["com.google.android.gm", 41], ["a.example", 9], ["(internal)", 7]),
  channels: top(["direct", 501], ["search", 322], ["email", 41], ["referral", 9], ["internal", 7], ["(other)", 203]),
  countries: top(["DE", 640], ["AT", 120], ["XX", 4]),
  devices: top(["mobile", 700], ["desktop", 383]),
  browsers: top(["Chrome", 611], ["Safari", 472]),
  os: top(["iOS", 430], ["Windows", 400], ["Android", 253]),
  bots: top(["list", 21], ["headless", 3]),
};

/** @param {number} views @returns {import("../wire").EventCounts} */
const events = (views) => ({ views, bots: 24 });

/**
 * @param {number} stored views
 * @param {Partial<import("../wire").DayStatement>} [more]
 * @returns {import("../wire").DayStatement} with 1,083 accepted views
 */
const statement = (stored, more) => ({
  id: "site_example",
  day: "2026-11-24",
  closed: true,
  accepted: events(1_083),
  dropped: {},
  waiting: events(0),
  counted: events(1_083),
  queued: null,
  pushed: events(stored),
  stored: events(stored),
  agrees: true,
  fault: null,
  off_by: null,
  ...more,
});

const NO_EVENTS = { views: 0, bots: 0 };
/** Reports with each verdict, without events, and without a statement. @type {Partial<import("../wire").Report>[]} */
const STATEMENTS = [
  { statement: statement(1_083) },
  { statement: statement(900) },
  { statement: statement(1_071, { counted: events(1_071), dropped: { busy: 12 } }) },
  { statement: statement(1_083, { agrees: false, fault: "store" }) },
  { statement: statement(0, { accepted: NO_EVENTS, counted: NO_EVENTS, stored: NO_EVENTS }) },
  {},
  { to: "2026-01-31" },
  { unavailable: "cloudflare" },
];

/** @param {string} to the last day of the chart @returns {import("../wire").Note[]} */
function notesUntil(to) {
  const at = `${to}T10:00:00Z`;
  /** @param {number} back @param {string} text @param {Partial<import("../wire").Note>} [more] */
  const note = (back, text, more) => {
    const day = addDays(to, -back);
    return { id: `note_${day}`, day, text, automatic: false, created_at: at, site_id: "site_example", ...more };
  };
  return [
    note(25, "Newsletter"),
    note(11, `A note of a whole account, with a long word: ${LONG_HOST}`, { account_id: "acc_example" }),
    note(3, "", { automatic: true, kind: "snippet_rotated", facts: { until: addDays(to, 25) } }),
  ];
}

function Report() {
  const compared = useSignal(true);
  const bots = useSignal(true);
  const toggle = {
    compared: () => void (compared.value = !compared.value),
    bots: () => void (bots.value = !bots.value),
  };
  const report = monthReport();
  const shown = compared.value ? report : { ...report, comparison: null };
  const comparison = t().report.comparisons.previous ?? "";
  const slots = slotsOf(shown);
  const notes = notesUntil(report.to);
  const more = (
    <button type="button" class="quiet">
      More
    </button>
  );
  return (
    <Part title="Report">
      <div class="report">
        <Periods current="30d" />
        <div class="range-place">
          <RangePicker report={report} />
        </div>
        <Totals kind="site" report={report} compared />
        {STATEMENTS.map((each, i) => (
          <p key={i} class="statement small">
            <StatementBadge report={{ ...report, ...each }} accountId="acc_example" />
          </p>
        ))}
        <Chart
          kind="site"
          by="day"
          slots={slots}
          compared={compared.value}
          comparison={comparison}
          bots={bots.value}
          toggle={toggle}
          below={<Marks notes={notes} slots={slots} />}
          more={more}
        />
        <section class="notes">
          <h2>{t().notes.title}</h2>
          <NoteList notes={notes} edit={() => {}} remove={() => {}} />
        </section>
        <Chart
          kind="link"
          by="hour"
          slots={slotsOf(todayReport())}
          compared={false}
          comparison={comparison}
          bots={bots.value}
          toggle={toggle}
          more={null}
        />
        <Breakdowns kind="site" host="shop.example" lists={LISTS} expanded={[]} expand={() => {}} />
      </div>
    </Part>
  );
}
