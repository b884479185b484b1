/** What is under way in an account, and what is wrong with it: each with the button that mends it. */

import { ago } from "../format.js";
import { Mark, Note, Trouble, explain } from "../ui/parts.jsx";
import { t } from "../words.js";
import { Revoke, toRevoke } from "./account-token.jsx";

/**
 * @typedef {import("../wire").FullAccount} Account
 * @typedef {import("../wire").Operation} Operation
 * @typedef {{install: () => void, renew: () => void}} Does
 */

/** @type {Record<Operation["kind"], string[]>} the steps of an operation, in order */
const STEPS = {
  connect: ["token", "database", "script", "cron", "selfcheck"],
  install: ["token", "database", "script", "cron", "selfcheck"],
  renew: ["token"],
  update: ["database", "script", "cron", "selfcheck"],
  disconnect: ["routes", "script", "database"],
};
/** Steps that people need not tell from the one that they belong to. @type {Record<string, string>} */
const WITHIN = { subdomain: "database", waiting: "token" };
const SLOW_MS = 60_000;

/** What mends a trouble or a warning, by its code. @type {Record<string, "install" | "renew" | "connect">} */
const MENDS = {
  revoked: "renew",
  token_refused: "renew",
  permission_error: "renew",
  credentials_missing: "renew",
  credentials_unreadable: "renew",
  renew_lost: "renew",
  token_expires_soon: "renew",
  old_token_not_deleted: "renew",
  orphan_not_deleted: "renew",
  bootstrap_lost: "connect",
  resource_drift: "install",
  name_taken: "install",
  cron_limit: "install",
  subdomain_required: "install",
  self_check_timeout: "install",
  worker_silent: "install",
  edge_firewall: "install",
  cloudflare_error: "install",
  cloudflare_unavailable: "install",
  internal: "install",
  not_confirmed: "install",
  crons_stopped: "install",
};

/** @param {{account: Account}} props the operation that runs, step by step */
export function Progress({ account: { state, operation } }) {
  const words = t().account.progress;
  if (operation?.state !== "running") return null;
  const { kind, step, updated_at } = operation;
  const now = WITHIN[step] ?? step;
  // A step that this page does not know shows its own name.
  const steps = STEPS[kind]?.includes(now) ? STEPS[kind] : [...(STEPS[kind] ?? []), now];
  const at = steps.indexOf(now);
  const names = /** @type {Record<string, string | undefined>} */ (words.steps);
  return (
    <section class="underway" aria-labelledby="progress">
      <h2 id="progress">{words[kind] ?? kind}</h2>
      <ol class="stages">
        {steps.map((each, i) => (
          <li key={each} aria-current={i === at ? "step" : undefined}>
            <Mark kind={i < at ? "good" : i === at ? "busy" : "none"}>{names[each] ?? each}</Mark>
          </li>
        ))}
      </ol>
      <p role="status">
        {step === "waiting" ? words.waits : state === "ready" && step === "selfcheck" ? words.ready : words.leave}
      </p>
      <p class="small">
        {words.changed(ago(updated_at))}{" "}
        {step !== "selfcheck" && Date.now() - Date.parse(updated_at) > SLOW_MS && words.slow}
      </p>
    </section>
  );
}

/** @param {{account: Account, does: Does, busy: boolean}} props */
export function Troubles({ account, does, busy }) {
  const { error, operation } = account;
  const words = t().account;
  const mend = { id: account.edge_account_id, does, busy };
  // An operation's own failure, where it is not the account's trouble: an update that failed changes nothing.
  const failed = operation?.state === "failed" && operation.error?.code !== error?.code ? operation : null;
  // A renewal tells its failure to who asked for it; what it has left is a warning.
  const told = failed?.kind === "install" || failed?.kind === "update" ? failed : null;
  return (
    <>
      {error?.code && (
        <Trouble error={error}>
          <Mend code={account.state === "pending" ? "bootstrap_lost" : error.code} {...mend} />
        </Trouble>
      )}
      {!error?.code && account.state === "pending" && operation?.step === "waiting" && (
        <p class="actions">
          <Mend code="bootstrap_lost" {...mend} />
        </p>
      )}
      {told?.error && (
        <Note kind="watch">
          <p class="said">
            <Mark kind="watch">{words.progress.failed[told.kind]}</Mark>
          </p>
          <p>{sentences(explain(told.error))}</p>
          <p class="actions">
            <Mend code="cloudflare_error" {...mend} />
          </p>
        </Note>
      )}
      {error?.warnings?.map((warning) => (
        <Note key={warning} kind="watch">
          <p class="actions">
            <Mark kind="watch">{words.warnings[warning] ?? warning}</Mark>
            <Mend code={warning} quiet {...mend} />
          </p>
        </Note>
      ))}
      <Revoke names={toRevoke(error?.details)} />
    </>
  );
}

/** @param {{message: string, remedy: string | null}} words */
const sentences = ({ message, remedy }) => (remedy ? `${message} ${remedy}` : message);

/**
 * What carries out a remedy, where a page can.
 * @param {{code: string, id: string, does: Does, busy: boolean, quiet?: boolean}} props
 */
function Mend({ code, id, does, busy, quiet = false }) {
  const words = t().account.menu;
  const mends = MENDS[code];
  if (!mends) return null;
  if (mends === "connect") {
    return (
      <a class="button" href={`/accounts/connect?account=${id}`}>
        {words.again}
      </a>
    );
  }
  return (
    <button type="button" class={quiet ? "quiet" : undefined} aria-disabled={busy} onClick={does[mends]}>
      {words[mends]}
    </button>
  );
}
