/** Problems that need the user's attention, each with a link to the page where they can fix it. */

import { moment } from "../format.js";
import { t } from "../words.js";
import { Mark, State, explain } from "./parts.jsx";

/**
 * @typedef {object} Need
 * @property {string} href the page where the user can fix it
 * @property {string} name of the account, site or address
 * @property {import("preact").ComponentChildren} mark the problem in one word, with its status mark
 * @property {(string | null)[]} texts explanation and remedy
 */

const WELL = ["ready", "pending", "installing"];

/**
 * @param {import("../wire").User} user
 * @param {import("../wire").Account[]} accounts
 * @param {import("../wire").Site[]} sites
 * @param {number} broken the number of links with broken destinations
 * @returns {Need[]} the user's problems first, then those of the accounts, the sites and the links
 */
export function attention(user, accounts, sites, broken) {
  return [...ofUser(user), ...accounts.flatMap(ofAccount), ...sites.flatMap(ofSite), ...ofLinks(broken)];
}

/** @param {import("../wire").User} user @returns {Need[]} */
function ofUser({ email, email_refused_at }) {
  if (email_refused_at === null) return [];
  const words = t().overview.needs;
  return [{ href: "/profile", name: email, mark: <Mark kind="bad">{words.refused}</Mark>, texts: [words.refusedText] }];
}

/** @param {import("../wire").Account} account @returns {Need[]} */
function ofAccount({ id, name, state, error, advice, token }) {
  const words = t().overview.needs;
  const href = `/accounts/${id}`;
  /** @type {Need[]} */
  const needs = [];
  if (!WELL.includes(state)) {
    const { message, remedy } = error?.code ? explain(error) : { message: null, remedy: words.seePage };
    needs.push({ href, name, mark: <State state={state} />, texts: [message, remedy] });
  }
  const warnings = error?.warnings ?? [];
  if (warnings.includes("token_expires_soon") && token) {
    const mark = <Mark kind="watch">{words.tokenEnds}</Mark>;
    needs.push({ href, name, mark, texts: [words.tokenEndsAt(moment(token.expires_at))] });
  }
  if (warnings.some((warning) => warning !== "token_expires_soon")) {
    needs.push({ href, name, mark: <Mark kind="watch">{words.warning}</Mark>, texts: [words.seePage] });
  }
  if (advice?.level && advice.level !== "ok") {
    const kind = advice.level === "over" ? "bad" : "watch";
    needs.push({ href, name, mark: <Mark kind={kind}>{words.advice[advice.level]}</Mark>, texts: [words.adviceText] });
  }
  return needs;
}

/** @param {import("../wire").Site} site @returns {Need[]} */
function ofSite({ id, host, state, error, warnings }) {
  const problem = error ?? (state === "route_conflict" ? { code: state } : warnings[0]);
  if (!problem) return [];
  const { message, remedy } = explain(problem);
  const mark = state === "active" ? <Mark kind="watch">{t().overview.needs.warning}</Mark> : <State state={state} />;
  return [{ href: `/sites/${id}/settings`, name: host, mark, texts: [message, remedy] }];
}

/** @param {number} broken @returns {Need[]} */
const ofLinks = (broken) =>
  broken === 0
    ? []
    : [
        {
          href: "/links?state=broken",
          name: t().common.nav.links,
          mark: <Mark kind="watch">{t().overview.needs.broken(broken)}</Mark>,
          texts: [],
        },
      ];

/** @param {{needs: Need[]}} props renders nothing if the list is empty */
export function Attention({ needs }) {
  if (needs.length === 0) return null;
  return (
    <section aria-labelledby="needs">
      <h2 id="needs">{t().overview.needs.title}</h2>
      <ul class="needs">
        {needs.map(({ href, name, mark, texts }, i) => (
          <li key={`${href} ${i}`}>
            <a href={href}>{name}</a>
            {mark}
            <span>{texts.filter(Boolean).join(" ")}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
