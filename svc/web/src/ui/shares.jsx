/** The dialog in which the owner of a site, link or account shares its counts. */

import { useSignal } from "@preact/signals";

import { call } from "../api.js";
import { longDay } from "../format.js";
import { changed, useResource } from "../resource.js";
import { t } from "../words.js";
import { Confirm, Dialog } from "./dialog.jsx";
import { Check, Field, Form, Group, Password } from "./form.jsx";
import { Copy, Loaded } from "./parts.jsx";

/**
 * @typedef {import("../wire").Share} Share
 * @typedef {"site" | "link" | "account"} Kind
 * @typedef {NonNullable<Share["periods"]>[number]} Period
 */

/** @type {Period[]} */
const PERIODS = ["today", "yesterday", "7d", "30d", "month", "last_month", "12mo", "year", "all"];

/** The button that opens the dialog. @param {{kind: Kind, id: string}} props */
export function ShareButton(props) {
  const isOpen = useSignal(false);
  return (
    <>
      <button type="button" class="quiet" onClick={() => (isOpen.value = true)}>
        {t().shares.share}
      </button>
      {isOpen.value && <SharesDialog {...props} close={() => (isOpen.value = false)} />}
    </>
  );
}

/** @param {{kind: Kind, id: string, close: () => void}} props */
function SharesDialog({ kind, id, close }) {
  const words = t().shares;
  const ofSite = useResource("GET /v1/sites/{site_id}/shares", kind === "site" ? { site_id: id } : null);
  const ofLink = useResource("GET /v1/links/{link_id}/shares", kind === "link" ? { link_id: id } : null);
  const ofAccount = useResource("GET /v1/accounts/{account_id}/shares", kind === "account" ? { account_id: id } : null);
  const read = { site: ofSite, link: ofLink, account: ofAccount }[kind];
  /** The share being edited; "new" for a new one; null if the list is shown. */
  const edited = useSignal(/** @type {Share | "new" | null} */ (null));
  const ended = useSignal(/** @type {Share | null} */ (null));
  const said = useSignal("");
  /** @param {string} text */
  const written = (text) => {
    said.value = text;
    edited.value = ended.value = null;
    changed(`/v1/${kind}s/${id}/shares`);
  };
  if (ended.value) {
    const share = ended.value;
    return (
      <Confirm
        title={words.endTitle(share.name)}
        submit={words.end}
        close={() => (ended.value = null)}
        send={async (key) => {
          await call("DELETE /v1/shares/{share_id}", { share_id: share.id, body: {}, key });
          written(words.ended);
        }}
      >
        <p>{words.endText}</p>
      </Confirm>
    );
  }
  if (edited.value) {
    const share = edited.value === "new" ? null : edited.value;
    return (
      <Dialog
        key="editor"
        title={share ? words.editNamed(share.name) : words.title[kind]}
        close={() => (edited.value = null)}
      >
        <Editor
          share={share}
          close={() => (edited.value = null)}
          send={async (body, key) => {
            if (share) await call("PATCH /v1/shares/{share_id}", { share_id: share.id, body, key });
            else if (kind === "site") await call("POST /v1/sites/{site_id}/shares", { site_id: id, body, key });
            else if (kind === "link") await call("POST /v1/links/{link_id}/shares", { link_id: id, body, key });
            else await call("POST /v1/accounts/{account_id}/shares", { account_id: id, body, key });
            written(share ? words.saved : words.created);
          }}
        />
      </Dialog>
    );
  }
  return (
    <Dialog key="list" title={words.title[kind]} close={close}>
      <p>{words.intro}</p>
      <Loaded read={read} rows={2}>
        {({ shares }) =>
          shares.length === 0 ? (
            <p class="small">{words.none}</p>
          ) : (
            <ul class="shares">
              {shares.map((share) => (
                <Row
                  key={share.id}
                  share={share}
                  edit={() => (edited.value = share)}
                  end={() => (ended.value = share)}
                />
              ))}
            </ul>
          )
        }
      </Loaded>
      <p role="status">{said.value}</p>
      <p class="actions">
        <button type="button" data-first onClick={() => (edited.value = "new")}>
          {words.create}
        </button>
        <button type="button" class="quiet" onClick={close}>
          {t().common.close}
        </button>
      </p>
    </Dialog>
  );
}

/** @param {{share: Share, edit: () => void, end: () => void}} props */
function Row({ share, edit, end }) {
  const words = t().shares;
  const { id, name, url, password, until } = share;
  const isPast = until !== undefined && until < new Date().toISOString().slice(0, 10);
  const facts = [
    ...(password ? [words.withPassword] : []),
    ...(until ? [isPast ? words.hasEnded(longDay(until)) : words.endsOn(longDay(until))] : []),
  ];
  return (
    <li>
      <p>
        <strong>
          <bdi>{name}</bdi>
        </strong>{" "}
        <span class="small">{facts.join(" · ")}</span>
      </p>
      {url === null ? (
        <p class="small">{words.noUrl}</p>
      ) : (
        <p>
          <code id={`url-${id}`} class="url">
            {url}
          </code>
        </p>
      )}
      <p class="actions">
        {url !== null && (
          <>
            <Copy text={url} shownIn={`url-${id}`} label={words.copyLink} />
            <a class="button quiet" href={url} target="_blank" rel="noopener noreferrer">
              {words.open}
            </a>
          </>
        )}
        <button type="button" class="quiet" aria-label={words.editNamed(name)} onClick={edit}>
          {words.edit}
        </button>
        <button type="button" class="quiet" aria-label={words.endNamed(name)} onClick={end}>
          {words.end}
        </button>
      </p>
      {url !== null && !isPast && !password && (
        <details>
          <summary>{words.badge}</summary>
          <p>
            <img src={`${url}/badge.svg`} alt={`${words.badge}: ${name}`} height="20" />
          </p>
          <p class="actions">
            <Copy text={markdownBadge(url)} label={words.copyMarkdown} />
            <Copy text={htmlBadge(url)} label={words.copyHtml} />
          </p>
        </details>
      )}
    </li>
  );
}

/** @param {string} url of a share @returns {string} */
export const markdownBadge = (url) => `[![views](${url}/badge.svg)](${url})`;

/** @param {string} url of a share @returns {string} */
export const htmlBadge = (url) => `<a href="${url}"><img src="${url}/badge.svg" alt="views" height="20"></a>`;

/**
 * @param {{
 *   share: Share | null,
 *   close: () => void,
 *   send: (body: any, key: string) => Promise<unknown>,
 * }} props `share`: null for a new one
 */
function Editor({ share, close, send }) {
  const words = t().shares;
  /** @type {Record<string, string>} */
  const names = { ...t().report.periods, ...t().range.periods };
  return (
    <Form
      submit={share ? words.save : words.create}
      send={(values, key) => send(bodyOf(values, share), key)}
      more={
        <button type="button" class="quiet" onClick={close}>
          {t().common.cancel}
        </button>
      }
    >
      <Field
        name="name"
        label={words.name}
        hint={words.nameHint}
        defaultValue={share?.name}
        maxLength={100}
        autocomplete="off"
        autoCapitalize="sentences"
        required
        data-first
      />
      <Field
        name="until"
        label={words.until}
        type="date"
        min={new Date().toISOString().slice(0, 10)}
        defaultValue={share?.until}
        optional
      />
      <Group name="periods" legend={words.periods} hint={words.periodsHint}>
        {PERIODS.map((period) => (
          <Check
            key={period}
            label={names[period]}
            name={`period-${period}`}
            value="on"
            defaultChecked={share?.periods?.includes(period)}
          />
        ))}
      </Group>
      <Check label={words.lists} name="lists" value="on" defaultChecked={share?.lists} />
      <Password
        name="password"
        label={words.password}
        hint={share?.password ? words.passwordKept : words.passwordHint}
        autocomplete="new-password"
        optional
      />
      {share?.password && <Check label={words.removePassword} name="no_password" value="on" />}
      <Field
        name="embed"
        label={words.embed}
        hint={words.embedHint}
        defaultValue={share?.embed.join("\n")}
        area
        rows={2}
        optional
      />
    </Form>
  );
}

/**
 * @param {Record<string, string>} values of the form
 * @param {Share | null} share the share before a change, or null for a new one
 * @returns {Record<string, unknown>} the body of the request
 */
export function bodyOf(values, share) {
  const periods = PERIODS.filter((period) => values[`period-${period}`] === "on");
  const password = values.no_password === "on" ? null : values.password || undefined;
  return {
    name: values.name,
    // An ended share keeps its last day. The API rejects a request that sets this past day again.
    ...(values.until !== (share?.until ?? "") && { until: values.until || null }),
    periods: periods.length > 0 ? periods : null,
    lists: values.lists === "on",
    embed: (values.embed ?? "").split(/\s+/).filter(Boolean),
    ...(password !== undefined && { password }),
  };
}
