/** Warnings about the zone and DNS of a host, and the DNS record to create. */

import { t } from "../words.js";
import { Mark, Note, explain } from "./parts.jsx";

/** @typedef {{code?: string, details?: Record<string, unknown>}} Problem */

/** @param {{warnings: import("../wire").ErrorObject[]}} props of a site */
export const HostWarnings = ({ warnings }) =>
  warnings.map((warning) => <Warning key={warning.code} warning={warning} />);

/** @param {{warning: import("../wire").ErrorObject}} props */
function Warning({ warning }) {
  const { message, remedy } = explain(warning);
  const status = warning.details?.status;
  const zone = warning.details?.zone;
  return (
    <Note kind="watch">
      <p class="message">
        <Mark kind="watch">{message}</Mark>
      </p>
      {typeof zone === "string" && typeof status === "string" && <p>{t().dns.status(zone, status)}</p>}
      {remedy && <p>{remedy}</p>}
      <DnsRecord problem={warning} />
      <p class="small">
        {t().dns.clears} {t().common.code} <code>{warning.code}</code>
      </p>
    </Note>
  );
}

/** The record that a `dns_not_proxied` problem requires; nothing for others. @param {{problem: Problem}} props */
export function DnsRecord({ problem: { code, details } }) {
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
