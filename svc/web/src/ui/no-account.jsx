/** Empty state of pages that require an account. */

import { t } from "../words.js";
import { Empty, KeyHint } from "./parts.jsx";

/** @param {{hint?: boolean}} props a link to the connect form; `hint`: show its shortcut */
export const ConnectAccount = ({ hint = false }) => (
  <a class="button" href="/accounts/connect">
    {t().accounts.connect} {hint && <KeyHint keys="n" />}
  </a>
);

/** @param {{children: string}} props says why an account is required */
export const NoAccount = ({ children }) => (
  <Empty>
    <p>{children}</p>
    <p>
      <ConnectAccount />
    </p>
  </Empty>
);
