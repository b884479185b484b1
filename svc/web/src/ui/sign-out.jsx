/** The button that signs out. */

import { leave } from "../router.js";
import { signOut } from "../session.js";
import { t } from "../words.js";
import { useWrite } from "./write.js";

/** Sign out in all tabs. If the service is unreachable, the session continues, and `Connection` reports the problem. */
export function SignOut() {
  const { busy, run } = useWrite();
  return (
    <button type="button" class="quiet" aria-disabled={busy} onClick={() => leave(() => run(signOut))}>
      {t().common.nav.signOut}
    </button>
  );
}
