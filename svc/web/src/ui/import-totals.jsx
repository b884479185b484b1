/** Import of daily totals from another product: the user selects a file, sees what it would add, and confirms. */

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import { call } from "../api.js";
import { days, number } from "../format.js";
import { changed } from "../resource.js";
import { compressed, inBase64 } from "../upload.js";
import { t } from "../words.js";
import { Check, Field, Form } from "./form.jsx";
import { Help } from "./help.jsx";
import { Note } from "./parts.jsx";

/** @typedef {import("../wire").ImportedTotals} Result */
/**
 * @typedef {{file: string, website?: string} | {source: "cloudflare"}} Upload the fields of the body that contain the
 *   file, or name the product from which the service reads the totals
 */

/** @param {{kind: "site" | "link", id: string}} props */
export function ImportTotals({ kind, id }) {
  const words = t().importTotals;
  const checked = useSignal(/** @type {{upload: Upload, result: Result} | null} */ (null));
  /** The number of days that the last import wrote. */
  const imported = useSignal(/** @type {number | null} */ (null));
  const importing = useSignal(false);
  /** The number of checks and edits. The result of a check is shown only if none of them followed it. */
  const latest = useRef(0);
  /** @param {Upload & {replace?: boolean, dry_run?: boolean, breakdowns?: boolean}} body @param {string} key */
  const send = async (body, key) =>
    (kind === "site"
      ? await call("POST /v1/sites/{site_id}/totals", { site_id: id, body, key })
      : await call("POST /v1/links/{link_id}/totals", { link_id: id, body: /** @type {any} */ (body), key })
    ).result;
  const restart = () => {
    imported.value = checked.value = null;
    return (latest.current += 1);
  };
  /** @param {() => Upload | Promise<Upload>} read @param {string} key */
  const check = async (read, key) => {
    const own = restart();
    const upload = await read();
    const result = await send({ ...upload, dry_run: true }, key);
    if (own === latest.current) checked.value = { upload, result };
  };
  return (
    <section aria-labelledby="import-totals">
      <h2 id="import-totals">{words.title}</h2>
      <p>
        {words.explain} <Help to="importTotals" />
      </p>
      <div class="column wide">
        {/* Another file or check would replace the button of the running import, and with it a possible error. */}
        <fieldset disabled={importing.value} onInput={restart}>
          <Form
            submit={words.check}
            guard={false}
            send={({ website = "" }, key, form) =>
              check(async () => {
                const file = /** @type {HTMLInputElement} */ (form.elements.namedItem("file")).files?.[0];
                return {
                  file: file ? inBase64(await compressed(file)) : "",
                  ...(website.trim() && { website: website.trim() }),
                };
              }, key)
            }
          >
            <Field name="file" label={words.file} hint={words.fileHint} type="file" required />
            <details class="more">
              <summary>{words.several}</summary>
              <Field name="website" label={words.website} hint={words.websiteHint} optional autocomplete="off" />
            </details>
          </Form>
          {kind === "site" && (
            <Form
              submit={words.checkCloudflare}
              kind="quiet"
              guard={false}
              send={(_, key) => check(() => ({ source: "cloudflare" }), key)}
            >
              {null}
            </Form>
          )}
        </fieldset>
        {checked.value && (
          <Checked
            {...checked.value}
            send={async (body, key) => {
              importing.value = true;
              try {
                const { added, different } = await send(body, key);
                restart();
                imported.value = added + (body.replace ? different : 0);
                changed(`/v1/${kind}s`);
              } finally {
                importing.value = false;
              }
            }}
          />
        )}
        <p role="status">{imported.value !== null && words.done(imported.value)}</p>
      </div>
    </section>
  );
}

/**
 * The result of the dry run, and the button that starts the import.
 * @param {{
 *   upload: Upload,
 *   result: Result,
 *   send: (body: Upload & {replace: boolean, breakdowns?: boolean}, key: string) => Promise<void>,
 * }} props
 */
function Checked({ upload, result, send }) {
  const words = t().importTotals;
  const replace = useSignal(false);
  const lists = useSignal(result.breakdown_months > 0);
  const written = result.added + (replace.value ? result.different : 0);
  const options = { replace: replace.value, ...(result.breakdown_months > 0 && { breakdowns: lists.value }) };
  return (
    <Note>
      <p>
        <strong>{words.product(result.product)}</strong>
      </p>
      <ul>
        <li>
          {result.first_day && result.last_day
            ? words.added(result.added, days(result.first_day, result.last_day, true), number(result.views))
            : words.nothing}
        </li>
        {result.unchanged > 0 && <li>{words.unchanged(result.unchanged)}</li>}
        {result.different > 0 && <li>{words.different(result.different)}</li>}
        {result.counted_here > 0 && <li>{words.countedHere(result.counted_here)}</li>}
        {result.rejected > 0 && (
          <li>
            {words.rejected(result.rejected)}
            <ul lang="en">
              {result.rejected_lines.slice(0, 5).map(({ line, reason }) => (
                <li key={`${line} ${reason}`}>{line > 0 ? `${words.line(number(line))} ${reason}` : reason}</li>
              ))}
            </ul>
          </li>
        )}
      </ul>
      {result.notes.map((note) => (
        <p key={note} class="hint" lang="en">
          {note}
        </p>
      ))}
      {result.different > 0 && (
        <Check
          label={words.replace}
          checked={replace.value}
          onChange={(/** @type {any} */ event) => (replace.value = event.currentTarget.checked)}
        />
      )}
      {result.breakdown_months > 0 && (
        <Check
          label={words.lists(result.breakdown_months)}
          checked={lists.value}
          onChange={(/** @type {any} */ event) => (lists.value = event.currentTarget.checked)}
        />
      )}
      {(written > 0 || lists.value) && (
        <Form submit={words.submit(written)} guard={false} send={(_, key) => send({ ...upload, ...options }, key)}>
          {null}
        </Form>
      )}
    </Note>
  );
}
