/** What cannot be done before an account is connected. */

import { t } from "../words.js";
import { Empty } from "./parts.jsx";

/** The way to one. */
export const ConnectAccount = () => (
  <a class="button" href="/accounts/connect">
    {t().accounts.connect}
  </a>
);

/** @param {{children: string}} props what needs one, in words */
export const NoAccount = ({ children }) => (
  <Empty>
    <p>{children}</p>
    <p>
      <ConnectAccount />
    </p>
  </Empty>
);
