/** Empty state of pages that require an account. */

import { t } from "../words.js";
import { Empty } from "./parts.jsx";

/** A link to the connect form. */
export const ConnectAccount = () => (
  <a class="button" href="/accounts/connect">
    {t().accounts.connect}
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
