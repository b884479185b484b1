/** The button that resends the confirmation email. */

import { useSignal } from "@preact/signals";

import { call } from "../api.js";
import { span } from "../format.js";
import { ApiError } from "../http.js";
import { t } from "../words.js";
import { ErrorMessage, useCountdown, useRetryAt } from "./parts.jsx";
import { useWrite } from "./write.js";

/** The minimum interval between two emails, in seconds. */
const REST_S = 60;

/** @param {{email: string, kind?: "quiet"}} props `kind`: the style of the button. It can be inside a form */
export function SendAgain({ email, kind }) {
  const words = t().session;
  const { busy, done, error, run } = useWrite();
  const rest = useSignal(new ApiError(""));
  const left_s = useCountdown(useRetryAt(error ?? rest.value));
  const send = () =>
    run(async () => {
      await call("POST /auth/confirm/resend", { body: { email } });
      rest.value = new ApiError("", "", { retry_after_s: REST_S });
    });
  return (
    <>
      <p role="status">{done && words.sentAgain}</p>
      {error && <ErrorMessage error={error} />}
      <p class="actions">
        <button type="button" class={kind} aria-disabled={busy || left_s > 0} onClick={() => left_s === 0 && send()}>
          {busy ? t().common.busy : left_s > 0 ? t().common.againIn(span(left_s)) : words.sendAgain}
        </button>
      </p>
    </>
  );
}
