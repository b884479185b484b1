/** Import of links in three steps: input, preview, and the result of each line. */

import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

import { ApiError, call, newKey } from "../api.js";
import { saveFile } from "../files.js";
import { number } from "../format.js";
import { decoded, inRequests, readLines } from "../import-lines.js";
import { asJsonLines, codeFault, unacceptedCsv } from "../import-report.js";
import { changed } from "../resource.js";
import { Check, Field, Form } from "../ui/form.jsx";
import { Help } from "../ui/help.jsx";
import { WithLinkHost } from "../ui/link-host.jsx";
import { Mark, Page, explain, issueText } from "../ui/parts.jsx";
import { useUnsent } from "../unsent.js";
import { t } from "../words.js";

/**
 * @typedef {import("../import-lines.js").Line} Line
 * @typedef {Extract<Line, {row: unknown}>} Good
 * @typedef {import("../import-report.js").Unaccepted} Wrong a line that is not sent; `row`: the link, if the line could
 *   be read
 * @typedef {{line: Good, error: {code?: string, message?: string, details?: Record<string, unknown>}}} Refused
 * @typedef {{key: string, lines: Good[]}} Request one API call; `key`: its Idempotency-Key, reused in retries
 * @typedef {{good: Good[], restricted: Good[], wrong: Wrong[], requests: Request[]}} Preview `restricted`: links that
 *   another product restricted; `good` contains them only if the user includes them
 */

// The number of lines shown in each table.
const SHOWN = 50;

export function ImportLinks() {
  const words = t().links.bulk;
  return (
    <Page title={words.title}>
      <WithLinkHost>
        {({ id }) => (
          <div class="import">
            <Import account_id={id} />
          </div>
        )}
      </WithLinkHost>
    </Page>
  );
}

/** @param {{account_id: string}} props */
function Import({ account_id }) {
  const text = useSignal("");
  /** The name of the file that was read; "" for pasted text. */
  const name = useSignal("");
  const previewed = useSignal(/** @type {Preview | null} */ (null));
  const made = useSignal(0);
  const refused = useSignal(/** @type {Refused[] | null} */ (null));

  useUnsent(text.value !== "" && refused.value === null);
  /** @param {string} given @param {string} from the name of the file @param {boolean} [include] restricted links */
  const preview = (given, from, include = false) => {
    const lines = readLines(given);
    const wrong = lines.flatMap(problem);
    const faulty = new Set(wrong.map(({ line }) => line));
    const readable = lines.filter((line) => "row" in line).filter(({ line }) => !faulty.has(line));
    const restricted = readable.filter((line) => line.restriction);
    const good = include ? readable : readable.filter((line) => !line.restriction);
    text.value = given;
    name.value = from;
    refused.value = null;
    made.value = 0;
    previewed.value = {
      good,
      restricted,
      wrong,
      requests: inRequests(good).map((some) => ({ key: newKey(), lines: some })),
    };
  };
  /** @param {string} given */
  const edit = (given) => {
    text.value = given;
    previewed.value = null;
  };
  if (!previewed.value) return <InputStep text={text.value} preview={preview} />;
  if (refused.value) return <ResultStep count={made.value} refused={refused.value} edit={edit} />;
  return (
    <PreviewStep
      {...previewed.value}
      name={name.value}
      account_id={account_id}
      include={(yes) => preview(text.value, name.value, yes)}
      back={(remaining) => edit(remaining ? asJsonLines(remaining) : text.value)}
      done={(count, left) => {
        made.value = count;
        refused.value = left;
      }}
    />
  );
}

/** @param {Line} line @returns {Wrong[]} the line with its problem, if it cannot be imported */
function problem(line) {
  const { faults } = t().links.bulk;
  if ("fault" in line) return [{ line: line.line, text: line.text, reason: faults[line.fault] }];
  const fault = codeFault(line.row.code);
  return fault ? [{ ...line, reason: faults[fault] }] : [];
}

/** @param {{text: string, preview: (text: string, name: string) => void}} props `name`: the name of the file */
function InputStep({ text, preview }) {
  const words = t().links.bulk;
  const over = useSignal(false);
  const unreadable = useSignal(false);
  /** @param {File | undefined} file */
  const read = async (file) => {
    if (!file) return;
    unreadable.value = false;
    try {
      preview(decoded(await file.arrayBuffer()), file.name);
    } catch {
      // The user selected a folder, or the file was deleted after it was selected.
      unreadable.value = true;
    }
  };
  return (
    <Form submit={words.look} send={async ({ lines = "" }) => preview(lines, "")}>
      <p>
        {words.explain} <Help to="import" />
      </p>
      <Field name="lines" label={words.text} area rows={10} placeholder={words.example} defaultValue={text} />
      <div
        class={over.value ? "drop over" : "drop"}
        onDragOver={(event) => {
          event.preventDefault();
          over.value = true;
        }}
        onDragLeave={() => (over.value = false)}
        onDrop={(event) => {
          event.preventDefault();
          over.value = false;
          read(event.dataTransfer?.files[0]);
        }}
      >
        <Field
          name="file"
          label={words.file}
          hint={words.drop}
          type="file"
          accept=".csv,.tsv,.txt,.json,.jsonl,.ndjson"
          onChange={(/** @type {any} */ event) => read(event.currentTarget.files[0])}
        />
      </div>
      <p role="alert" class="issue">
        {unreadable.value && words.unreadable}
      </p>
    </Form>
  );
}

/**
 * The second step: the lines to send, before and while they are sent.
 * @param {Preview & {
 *   name: string,
 *   account_id: string,
 *   include: (yes: boolean) => void,
 *   back: (remaining: Good[] | null) => void,
 *   done: (made: number, refused: Refused[]) => void,
 * }} props `back`: returns to the first step; `remaining`: the lines that were not imported, null if none was sent
 */
function PreviewStep({ good, restricted, wrong, requests, name, account_id, include, back, done }) {
  const words = t().links.bulk;
  const sent = useSignal(0);
  const sending = useSignal(false);
  /** True after the first attempt. The service may have processed a request whose response was lost. */
  const begun = useSignal(false);
  const results = useRef({ made: 0, refused: /** @type {Refused[]} */ ([]) });

  /** Send the remaining requests. After a failure, the next call continues with the request that failed. */
  const send = async () => {
    sending.value = begun.value = true;
    try {
      for (const { key, lines } of requests.slice(sent.value)) {
        const body = { account_id, links: lines.map(({ row }) => row) };
        const response = await call("POST /v1/links/bulk", { body, key });
        for (const [i, { link, error }] of response.results.entries()) {
          const line = lines[i];
          if (link) results.current.made += 1;
          else if (line) results.current.refused.push({ line, error: error ?? {} });
        }
        sent.value += 1;
      }
    } finally {
      sending.value = false;
      changed("/v1/links");
    }
    done(results.current.made, results.current.refused);
  };
  const remaining = () => [
    ...results.current.refused.map(({ line }) => line),
    ...requests.slice(sent.value).flatMap(({ lines }) => lines),
  ];
  const leave = (
    <button
      type="button"
      class="quiet"
      aria-disabled={sending.value}
      onClick={() => sending.value || back(sent.value > 0 ? remaining() : null)}
    >
      {words.lookAgain}
    </button>
  );
  // Another set of lines would need other requests, whose keys do not prevent that a link is created twice.
  const held = restricted.length > 0 && !begun.value && (
    <Restricted lines={restricted} included={good.some((line) => line.restriction)} include={include} />
  );
  if (good.length === 0) {
    return (
      <>
        <Heading>{words.nothing}</Heading>
        {name && <p class="hint">{words.readFrom(name)}</p>}
        {wrong.length > 0 && <Faults wrong={wrong} />}
        {held}
        <p class="actions">{leave}</p>
      </>
    );
  }
  const dated = good.filter((line) => line.isDated).length;
  const done_lines = requests.slice(0, sent.value).reduce((sum, { lines }) => sum + lines.length, 0);
  return (
    <>
      <Heading>{words.wouldBe(good.length)}</Heading>
      <p class="hint">
        {name && `${words.readFrom(name)} `}
        {words.nothingYet}
      </p>
      {wrong.length > 0 && <Faults wrong={wrong} />}
      {held}
      {dated > 0 && <p class="hint">{words.dated(dated)}</p>}
      <Table
        lines={good.map((line) => ({ ...line, says: <Mark kind="none">{words.ready}</Mark> }))}
        label={words.wouldBe(good.length)}
      />
      <Form submit={sent.value ? words.goOn : words.send(good.length)} guard={false} more={leave} send={send}>
        {begun.value && <progress max={good.length} value={done_lines} aria-label={words.sending} />}
        <p role="status">{begun.value && words.progress(number(done_lines), number(good.length))}</p>
      </Form>
    </>
  );
}

/**
 * Links that were restricted in another product.
 * @param {{lines: Good[], included: boolean, include: (yes: boolean) => void}} props
 */
function Restricted({ lines, included, include }) {
  const words = t().links.bulk;
  const shown = lines.map((line) => ({
    ...line,
    says: <Mark kind="none">{line.restriction ? words.restrictions[line.restriction] : ""}</Mark>,
  }));
  return (
    <>
      <p>{words.restricted(lines.length)}</p>
      <Table lines={shown} label={words.restricted(lines.length)} />
      <Check
        label={words.include}
        checked={included}
        onChange={(/** @type {any} */ event) => include(event.currentTarget.checked)}
      />
    </>
  );
}

/** @param {{wrong: Wrong[]}} props */
function Faults({ wrong }) {
  const words = t().links.bulk;
  const lines = wrong.map((line) => ({ ...line, says: <Mark kind="bad">{line.reason}</Mark> }));
  return (
    <>
      <p>{words.wrong(wrong.length)}</p>
      <Table lines={lines} label={words.wrong(wrong.length)} />
      <p class="actions">
        <Download lines={wrong} name="skipped" />
      </p>
    </>
  );
}

/**
 * @param {{lines: Wrong[], name: "skipped" | "rejected"}} props downloads all lines, including those that the page does
 *   not show
 */
const Download = ({ lines, name }) => (
  <button
    type="button"
    class="quiet"
    onClick={() => saveFile(new Blob(["\ufeff", unacceptedCsv(lines)], { type: "text/csv" }), `links-${name}.csv`)}
  >
    {t().links.bulk.download}
  </button>
);

/** @param {{count: number, refused: Refused[], edit: (text: string) => void}} props */
function ResultStep({ count, refused, edit }) {
  const words = t().links.bulk;
  const lines = refused.map(({ line, error }) => ({ ...line, says: <Mark kind="bad">{lineError(error)}</Mark> }));
  return (
    <>
      <Heading>{words.made(count)}</Heading>
      {refused.length > 0 && (
        <>
          <p>{words.refused(refused.length)}</p>
          <Table lines={lines} label={words.refused(refused.length)} />
        </>
      )}
      <p class="actions">
        {refused.length > 0 && (
          // Rejected lines are always offered as JSON, regardless of the input format, because JSON needs no header
          // row.
          <button type="button" onClick={() => edit(asJsonLines(refused.map(({ line }) => line)))}>
            {words.mend}
          </button>
        )}
        {refused.length > 0 && (
          <Download lines={refused.map(({ line, error }) => ({ ...line, reason: lineError(error) }))} name="rejected" />
        )}
        <a class={refused.length > 0 ? "button quiet" : "button"} href="/links">
          {words.toLinks}
        </a>
      </p>
    </>
  );
}

/** @param {Refused["error"]} error @returns {string} the error of one line */
function lineError(error) {
  const { issues } = new ApiError(error.code ?? "", error.message, { details: error.details ?? {} });
  const { target, code } = t().links.bulk.columns;
  /** @type {Record<string, string>} */
  const fields = { url: target, code };
  return issues.length > 0
    ? issues.map((issue) => `${fields[issue.path] ?? issue.path}: ${issueText(issue)}`).join("; ")
    : explain(error).message;
}

/** The heading of a step, which takes the focus. @param {{children: string}} props */
function Heading({ children }) {
  const heading = useRef(/** @type {HTMLHeadingElement | null} */ (null));
  useLayoutEffect(() => heading.current?.focus(), []);
  return (
    <h2 ref={heading} tabIndex={-1}>
      {children}
    </h2>
  );
}

/** @param {{lines: ((Line | Wrong) & {says: import("preact").ComponentChildren})[], label: string}} props */
function Table({ lines, label }) {
  const words = t().links.bulk;
  const { columns } = words;
  return (
    <>
      <div class="table">
        <table class="rows" aria-label={label}>
          <thead>
            <tr>
              <th scope="col">{columns.line}</th>
              <th scope="col">{columns.target}</th>
              <th scope="col">{columns.code}</th>
              <th scope="col">{columns.found}</th>
            </tr>
          </thead>
          <tbody>
            {lines.slice(0, SHOWN).map((line) => (
              <tr key={line.line}>
                <th scope="row">{line.line}</th>
                <td data-label={columns.target}>
                  <span class="clip">{"row" in line && line.row ? line.row.url : line.text}</span>
                </td>
                <td data-label={columns.code}>
                  {"row" in line &&
                    line.row &&
                    (line.row.code ? <code>{line.row.code}</code> : <em>{words.random}</em>)}
                </td>
                <td data-label={columns.found}>{line.says}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {lines.length > SHOWN && <p class="hint">{words.rest(lines.length - SHOWN)}</p>}
    </>
  );
}
