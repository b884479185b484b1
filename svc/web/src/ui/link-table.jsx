/** The table of links, with the selection of active links and the restoration of deleted links. */

import { useSignal } from "@preact/signals";

import { days, number } from "../format.js";
import { useKeys } from "../keys.js";
import { useSelection } from "../selection.js";
import { lastWeek } from "../series.js";
import { bare } from "../short-url.js";
import { targetsOf } from "../split.js";
import { t } from "../words.js";
import { DataTable } from "./data-table.jsx";
import { isRestorable, RestoreButton } from "./deleted-link.jsx";
import { isWell, LinkActs, LinkState, useLinkKeys } from "./link-acts.jsx";
import { ErrorMessage } from "./parts.jsx";
import { QrDialog } from "./qr.jsx";
import { Result, SelectionBar } from "./selection-bar.jsx";
import { TagLinks } from "./tags.jsx";

/** @typedef {import("../wire").Link} Link */
/** @typedef {import("preact").ComponentChildren} Children */

/**
 * Links that the user can select.
 * @param {{links: Link[], filter: import("../selection.js").Filter, hasMore: boolean, nothing: Children}} props
 *   `nothing`: shown instead of an empty table, below the result of the last action
 */
export function ActiveLinks({ links, filter, hasMore, nothing }) {
  const words = t().linkActions;
  const selection = useSelection(links, filter);
  useKeys([{ keys: "x", says: words.selectKey, does: pressCheckbox }]);
  return (
    <>
      <SelectionBar selection={selection} count={links.length} hasMore={hasMore} />
      {links.length === 0 ? (
        nothing
      ) : (
        <Table
          links={links}
          acts={(link) => <LinkActs link={link} qrDialog={QrDialog} icons />}
          choosing={{
            label: words.selection,
            name: (link) => words.select(bare(link)),
            isChosen: selection.has,
            toggle: selection.toggle,
          }}
        />
      )}
    </>
  );
}

/** Select or deselect the row that has the focus. */
function pressCheckbox() {
  const box = document.activeElement?.closest("tr")?.querySelector(".choose input");
  if (box instanceof HTMLElement) box.click();
}

/** @param {{links: Link[], nothing: Children}} props links that can be restored; see `ActiveLinks` */
export function DeletedLinks({ links, nothing }) {
  const notice = useSignal(/** @type {import("./selection-bar.jsx").Notice | null} */ (null));
  const error = useSignal(/** @type {import("../http.js").ApiError | null} */ (null));
  return (
    <>
      <Result notice={notice} />
      {error.value && <ErrorMessage error={error.value} />}
      {links.length === 0 ? (
        nothing
      ) : (
        <Table
          links={links}
          acts={(link) =>
            isRestorable(link) && (
              <RestoreButton
                link={link}
                done={(restored) => {
                  notice.value = { text: t().linkActions.restoredOne(bare(restored)) };
                  error.value = null;
                }}
                failed={(failure) => (error.value = failure)}
              />
            )
          }
        />
      )}
    </>
  );
}

/**
 * @param {{
 *   links: Link[],
 *   acts: (link: Link) => import("preact").ComponentChildren,
 *   choosing?: import("./data-table.jsx").Choosing<Link>,
 * }} props
 */
function Table({ links, acts, choosing }) {
  const words = t().links;
  const { columns } = words;
  const { from, to } = lastWeek(Date.now());
  useLinkKeys();
  return (
    <DataTable
      label={words.title}
      rows={links}
      id={({ id }) => id}
      columns={[
        { label: columns.link, cell: (link) => <Name link={link} /> },
        {
          label: columns.target,
          cell: ({ url, split, rules, tags }) => (
            <span class="target">
              <span class="clip">
                {targetsOf({ url, split })
                  .map((target) => target.replace(/^https:\/\//, ""))
                  .join(", ")}
              </span>
              {split && (
                <span class="small">
                  {t().linkFields.split.title}: {t().linkFields.split.variants(split.length)}
                </span>
              )}
              {rules.length > 0 && <span class="small">{t().link.andRules(rules.length)}</span>}
              <TagLinks tags={tags} />
            </span>
          ),
        },
        {
          label: columns.clicks(days(from, to)),
          kind: "number primary",
          cell: ({ clicks_7d }) => number(clicks_7d ?? 0),
        },
        ...(links.every(isWell)
          ? []
          : [{ label: columns.state, cell: (/** @type {Link} */ link) => !isWell(link) && <LinkState link={link} /> }]),
        {
          label: columns.acts,
          kind: "bare",
          cell: acts,
        },
      ]}
      {...(choosing && { choosing })}
    />
  );
}

/** @param {{link: Link}} props shows the title with the code below it, or only the code if the link has no title */
const Name = ({ link: { id, code, title } }) => (
  <>
    <a href={`/links/${id}`} dir="auto">
      {title ?? code}
    </a>
    {title && (
      <span class="small below">
        <span class="unseen">{t().linkFields.code}: </span>
        <bdi>{code}</bdi>
      </span>
    )}
  </>
);
