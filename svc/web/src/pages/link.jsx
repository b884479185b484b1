/** The page of a link: actions, destinations and report. */

import { useSignal } from "@preact/signals";

import { created } from "../created.js";
import { ago } from "../format.js";
import { later, laterForLinks } from "../later.jsx";
import { isMissing, useResource, whileWorking } from "../resource.js";
import { DisabledNote } from "../ui/disabled.jsx";
import { LinkActs, LinkState, underWay, useLinkKeys } from "../ui/link-acts.jsx";
import { ErrorMessage, Loaded, Page } from "../ui/parts.jsx";
import { Report, useFirstNumbers } from "../ui/report.jsx";
import { bare } from "../short-url.js";
import { t } from "../words.js";

/** @typedef {import("../wire").Link} Link */

const CreatedLink = laterForLinks("CreatedLink", { part: true });
const DeletedLink = laterForLinks("DeletedLink", { part: true });
const DeleteLink = laterForLinks("DeleteLink", { part: true });
const LinkFacts = laterForLinks("LinkFacts", { part: true });
const Leading = laterForLinks("Leading", { part: true });
const QrDialog = laterForLinks("QrDialog", { part: true });
const NotFound = later("NotFound");

/** @type {import("../resource.js").Pace} */
const whileUnderWay = ({ link }, polls, since_ms) => (underWay(link) ? whileWorking(link, polls, since_ms) : null);

/** @param {{id: string}} props */
export function LinkReport({ id }) {
  const words = t().link;
  const read = useResource("GET /v1/links/{link_id}", { link_id: id }, { pace: whileUnderWay });
  useFirstNumbers("link", id);
  const link = read.data?.link;
  if (isMissing(read)) return <NotFound kind="link" />;
  return (
    <Page title={link ? bare(link) : words.one} head={link?.state === "active" && <Acts link={link} />}>
      {link && created.value?.id === id && <CreatedLink link={link} />}
      <Loaded read={read} rows={2}>
        {({ link: found }) => <Head link={found} />}
      </Loaded>
      {link && <LinkFacts link={link} />}
      {link && <Leading link={link} />}
      {link && <Report kind="link" id={id} name={link.code} accountId={link.account_id} split={link.split} />}
    </Page>
  );
}

/** @param {{link: Link}} props */
function Acts({ link }) {
  const words = t().link;
  const asking = useSignal(false);
  useLinkKeys();
  return (
    <span class="actions">
      <LinkActs link={link} qrDialog={QrDialog} />
      {link.short_url && !link.disabled && (
        <a class="button quiet" href={link.short_url} target="_blank" rel="noopener noreferrer">
          {t().common.open}
        </a>
      )}
      <button type="button" class="quiet" onClick={() => (asking.value = true)}>
        {words.remove}
      </button>
      {asking.value && <DeleteLink link={link} close={() => (asking.value = false)} />}
    </span>
  );
}

/** @param {{link: Link}} props */
function Head({ link }) {
  const words = t().link;
  return (
    <>
      {link.state === "deleted" && <DeletedLink link={link} />}
      <DisabledNote kind="link" disabled={link.disabled} />
      {link.error && <ErrorMessage error={link.error} />}
      <p class="lead">
        <LinkState link={link} /> <span class="hint">{words.made(ago(link.created_at))}</span>
        {underWay(link) && <span class="hint">{words.clickFlight}</span>}
      </p>
    </>
  );
}
