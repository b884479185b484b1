/** What a host lacks before its visitors reach the worker: warnings of a site, and the DNS record to create. */

import { t } from "../words.js";
import { Mark, Note, explain } from "./parts.jsx";

/** @typedef {{code?: string, details?: Record<string, unknown>}} Problem */

/** @param {{warnings: import("../wire").ErrorObject[]}} props of a site */
export const HostWarnings = ({ warnings }) => warnings.map((warning) => <Warning key={warning.code} of={warning} />);

/** @param {{of: import("../wire").ErrorObject}} props */
function Warning({ of: warning }) {
  const { message, remedy } = explain(warning);
  const status = warning.details?.status;
  const zone = warning.details?.zone;
  return (
    <Note kind="watch">
      <p class="said">
        <Mark kind="watch">{message}</Mark>
      </p>
      {typeof zone === "string" && typeof status === "string" && <p>{t().dns.status(zone, status)}</p>}
      {remedy && <p>{remedy}</p>}
      <DnsRecord of={warning} />
      <p class="small">
        {t().dns.clears} {t().common.code} <code>{warning.code}</code>
      </p>
    </Note>
  );
}

/** @param {{of: Problem}} props the record that `dns_not_proxied` asks for; nothing for other problems */
export function DnsRecord({ of: { code, details } }) {
  const record = details?.record;
  if (code !== "dns_not_proxied" || typeof record !== "object" || record === null) return null;
  const words = t().dns;
  const { type, name, content } = /** @type {{type?: string, name: string, content?: string}} */ (record);
  return (
    <>
      <p>{words.record}</p>
      <dl class="facts">
        <Fact name={words.columns.type} value={type ?? words.anyType} />
        <Fact name={words.columns.name} value={name} />
        <Fact name={words.columns.content} value={content ?? words.server} />
        <Fact name={words.columns.proxy} value={words.proxied} />
      </dl>
    </>
  );
}

/** @param {{name: string, value: string}} props */
const Fact = ({ name, value }) => (
  <div>
    <dt>{name}</dt>
    <dd>
      <code>{value}</code>
    </dd>
  </div>
);
