/** The table of links. */

import { days, number } from "../format.js";
import { lastWeek } from "../series.js";
import { t } from "../words.js";
import { DataTable } from "./data-table.jsx";
import { LinkActs, LinkState, useLinkKeys } from "./link-acts.jsx";
import { Mark } from "./parts.jsx";
import { TagLinks } from "./tags.jsx";
import { QrDialog } from "./qr.jsx";

/** @typedef {import("../wire").Link} Link */

/** @param {Link} link @returns {boolean} true if the worker serves the current version to visitors */
const isLive = ({ state, config, error, disabled }) => state === "active" && config === "synced" && !error && !disabled;

/** @param {Link} link @returns {boolean} true if visitors reach the destinations of the current version */
const isWell = (link) => isLive(link) && !link.broken_targets;

/** @param {Link} link renders the link's status, or nothing if visitors reach the current destinations */
const shownState = (link) =>
  isLive(link) ? link.broken_targets && <Mark kind="bad">{t().links.broken.mark}</Mark> : <LinkState link={link} />;

/** @param {{links: Link[]}} props */
export function LinkTable({ links }) {
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
          cell: ({ url, rules, tags }) => (
            <span class="target">
              <span class="clip">{url.replace(/^https:\/\//, "")}</span>
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
        ...(links.every(isWell) ? [] : [{ label: columns.state, cell: shownState }]),
        {
          label: columns.acts,
          kind: "bare",
          cell: (link) => link.state === "active" && <LinkActs link={link} qrDialog={QrDialog} icons />,
        },
      ]}
    />
  );
}

/** @param {{link: Link}} props the title, with the code below; the code alone if the link has no title */
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
