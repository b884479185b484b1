/** The running operation of an account, and its errors and warnings, each with a button for the remedy. */

import { ago } from "../format.js";
import { ErrorMessage, Mark, Note, explain } from "../ui/parts.jsx";
import { t } from "../words.js";
import { Revoke, toRevoke } from "./account-token.jsx";

/**
 * @typedef {import("../wire").FullAccount} Account
 * @typedef {import("../wire").Operation} Operation
 * @typedef {{install: () => void, renew: () => void}} Handlers
 */

/** @type {Record<Operation["kind"], string[]>} the steps of an operation, in order */
const STEPS = {
  connect: ["token", "database", "script", "cron", "selfcheck"],
  install: ["token", "database", "script", "cron", "selfcheck"],
  renew: ["token"],
  update: ["database", "script", "cron", "selfcheck"],
  disconnect: ["routes", "script", "database"],
};
/** Steps that are shown as part of another step. @type {Record<string, string>} */
const WITHIN = { subdomain: "database", waiting: "token" };
const SLOW_MS = 60_000;

/** The action that resolves an error or warning, by code. @type {Record<string, "install" | "renew" | "connect">} */
const ACTIONS = {
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

/** @param {{account: Account}} props the running operation with its steps */
export function Progress({ account: { state, operation } }) {
  const words = t().account.progress;
  if (operation?.state !== "running") return null;
  const { kind, step, updated_at } = operation;
  const now = WITHIN[step] ?? step;
  // If this version of the application has no text for a step, show the API's name of the step.
  const steps = STEPS[kind]?.includes(now) ? STEPS[kind] : [...(STEPS[kind] ?? []), now];
  const at = steps.indexOf(now);
  const names = /** @type {Record<string, string | undefined>} */ (words.steps);
  // The account is ready to use before its Worker has sent the first push.
  const awaitsReport = state === "ready" && step === "selfcheck";
  return (
    <section class="underway" aria-labelledby="progress">
      <h2 id="progress">{awaitsReport ? words.awaitsReport : (words[kind] ?? kind)}</h2>
      <ol class="stages">
        {steps.map((each, i) => (
          <li key={each} aria-current={i === at ? "step" : undefined}>
            <Mark kind={i < at ? "good" : i === at ? "busy" : "none"}>{names[each] ?? each}</Mark>
          </li>
        ))}
      </ol>
      <p role="status">{step === "waiting" ? words.waits : awaitsReport ? words.ready : words.leave}</p>
      <p class="small">
        {words.changed(ago(updated_at))}{" "}
        {step !== "selfcheck" && Date.now() - Date.parse(updated_at) > SLOW_MS && words.slow}
      </p>
    </section>
  );
}

/** @param {{account: Account, does: Handlers, busy: boolean}} props */
export function AccountErrors({ account, does, busy }) {
  const { error, operation } = account;
  const words = t().account;
  const button = { id: account.edge_account_id, does, busy };
  // Show a failed operation only if its error is not already shown as the account's error. A failed update, for
  // example, does not set an error of the account.
  const failed = operation?.state === "failed" && operation.error?.code !== error?.code ? operation : null;
  // A failed renewal is shown in the renewal dialog, and a remaining token is shown as a warning.
  const shown = failed?.kind === "install" || failed?.kind === "update" ? failed : null;
  return (
    <>
      {error?.code && (
        <ErrorMessage error={error}>
          <ActionButton code={account.state === "pending" ? "bootstrap_lost" : error.code} {...button} />
        </ErrorMessage>
      )}
      {!error?.code && account.state === "pending" && operation?.step === "waiting" && (
        <p class="actions">
          <ActionButton code="bootstrap_lost" {...button} />
        </p>
      )}
      {shown?.error && (
        <Note kind="watch">
          <p class="message">
            <Mark kind="watch">{words.progress.failed[shown.kind]}</Mark>
          </p>
          <p>{sentences(explain(shown.error))}</p>
          <p class="actions">
            <ActionButton code="cloudflare_error" {...button} />
          </p>
        </Note>
      )}
      {error?.warnings?.map((warning) => (
        <Note key={warning} kind="watch">
          <p class="actions">
            <Mark kind="watch">{words.warnings[warning] ?? warning}</Mark>
            <ActionButton code={warning} quiet {...button} />
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
 * The button or link that carries out a remedy. Renders nothing if the page has no action for the code.
 * @param {{code: string, id: string, does: Handlers, busy: boolean, quiet?: boolean}} props
 */
function ActionButton({ code, id, does, busy, quiet = false }) {
  const words = t().account.menu;
  const action = ACTIONS[code];
  if (!action) return null;
  if (action === "connect") {
    return (
      <a class="button" href={`/accounts/connect?account=${id}`}>
        {words.again}
      </a>
    );
  }
  return (
    <button type="button" class={quiet ? "quiet" : undefined} aria-disabled={busy} onClick={does[action]}>
      {words[action]}
    </button>
  );
}
