/** The button that resends the confirmation email. */

import { useSignal } from "@preact/signals";

import { call } from "../api.js";
import { ApiError } from "../http.js";
import { t } from "../words.js";
import { Form } from "./form.jsx";

/** The minimum interval between two emails, in seconds. */
const REST_S = 60;

/** @param {{email: string}} props */
export function SendAgain({ email }) {
  const words = t().session;
  const sent = useSignal(false);
  const rest = useSignal(/** @type {ApiError | null} */ (null));
  return (
    <Form
      guard={false}
      submit={words.sendAgain}
      rest={rest.value}
      send={async () => {
        await call("POST /auth/confirm/resend", { body: { email } });
        sent.value = true;
        rest.value = new ApiError("", "", { retry_after_s: REST_S });
      }}
    >
      <p role="status">{sent.value && words.sentAgain}</p>
    </Form>
  );
}
