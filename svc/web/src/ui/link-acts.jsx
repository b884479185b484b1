/** The actions for a link (copy, QR code, edit) as buttons and shortcuts, and the link's state. */

import { useSignal } from "@preact/signals";

import { useKeys } from "../keys.js";
import { stateAt } from "../schedule.js";
import { bare } from "../short-url.js";
import { t } from "../words.js";
import { Icon } from "./icons.jsx";
import { Copy, Mark } from "./parts.jsx";

/** @typedef {import("../wire").Link} Link */

/**
 * Buttons with `data-key` for `useLinkKeys`.
 * @param {{
 *   link: Link,
 *   qrDialog: import("preact").ComponentType<{link: Link, close: () => void}>,
 *   icons?: boolean,
 * }} props `qrDialog`: the component in qr.jsx, which may be loaded on demand; `icons`: show icons instead of words
 */
export function LinkActs({ link, qrDialog: QrDialog, icons = false }) {
  const words = t().link;
  const shown = useSignal(false);
  const { short_url } = link;
  return (
    <span class="link-acts" role="group" aria-label={bare(link)}>
      {short_url && <Copy text={short_url} icon={icons} />}
      {short_url && (
        <button
          type="button"
          data-key="q"
          onClick={() => (shown.value = true)}
          {...(icons ? iconNamed(words.qr) : { class: "quiet" })}
        >
          {icons ? <Icon name="qr" /> : words.qr}
        </button>
      )}
      {!link.disabled && (
        <a
          data-key="e"
          href={`/links/${link.id}/edit`}
          {...(icons ? iconNamed(words.change) : { class: "button quiet" })}
        >
          {icons ? <Icon name="edit" /> : words.change}
        </a>
      )}
      {shown.value && <QrDialog link={link} close={() => (shown.value = false)} />}
    </span>
  );
}

/** @param {string} name @returns {{class: string, "aria-label": string, title: string}} */
const iconNamed = (name) => ({ class: "button quiet icon-button", "aria-label": name, title: name });

/** Register the shortcuts c, q and e for the row that has the focus, or for the link if the page shows only one. */
export function useLinkKeys() {
  const words = t().link;
  /** @param {string} key */
  const press = (key) => {
    const table = document.querySelector("main .rows .link-acts");
    const scope = table ? document.activeElement?.closest("tr") : document.querySelector("main");
    const button = scope?.querySelector(`[data-key="${key}"]`);
    if (button instanceof HTMLElement) button.click();
  };
  useKeys([
    { keys: "c", says: words.copyKey, does: () => press("c") },
    { keys: "q", says: words.qrKey, does: () => press("q") },
    { keys: "e", says: words.editKey, does: () => press("e") },
  ]);
}

/**
 * Marks that say whether visitors reach the link's destinations. `Live` is the only mark if they do.
 * @param {{link: Link}} props
 */
export function LinkState({ link }) {
  const words = t().link;
  const phase = phaseOf(link);
  return (
    <>
      {(isWell(link) || !isLive(link)) && <SyncState link={link} />}
      {isLive(link) && link.broken_targets && <Mark kind="bad">{words.broken}</Mark>}
      {phase === "before" && <Mark kind="watch">{words.scheduled}</Mark>}
      {phase === "after" && <Mark kind="none">{words.ended}</Mark>}
    </>
  );
}

/** @param {Link} link @returns {boolean} true if the Worker serves the current version to visitors */
const isLive = ({ state, config, error, disabled }) => state === "active" && config === "synced" && !error && !disabled;

/** @param {Link} link @returns {import("../schedule.js").Kind} */
const phaseOf = (link) => (link.state === "active" ? stateAt(link, Date.now()) : "during");

/** @param {Link} link @returns {boolean} true if visitors reach the destinations of the current version */
export const isWell = (link) => isLive(link) && !link.broken_targets && phaseOf(link) === "during";

/** @param {{link: Link}} props */
function SyncState({ link }) {
  const words = t().link;
  if (link.state === "deleted") return <Mark kind="none">{t().common.states.deleted}</Mark>;
  if (link.disabled) return <Mark kind="bad">{t().common.states.disabled}</Mark>;
  if (link.error) return <Mark kind="watch">{words.held}</Mark>;
  return (
    <Mark kind={link.config === "synced" ? "good" : "busy"}>
      {link.config === "synced" ? words.live : words.pending}
    </Mark>
  );
}

/** @param {Link} link @returns {boolean} true while the link is being synced */
export const underWay = ({ config, error }) => config === "pending" && !error;
