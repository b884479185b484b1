/** The forms to create and edit a link. */

import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";

import { ApiError, call } from "../api.js";
import { changed, useResource } from "../resource.js";
import { address, go } from "../router.js";
import { Field, Form } from "../ui/form.jsx";
import { WithLinkHost } from "../ui/link-host.jsx";
import { ErrorMessage, Loaded, Note, Page, issueText } from "../ui/parts.jsx";
import { bare } from "../ui/qr.jsx";
import { asDrafts, asRules, Leads, RulesEditor } from "../ui/rules.jsx";
import { t } from "../words.js";

/** @typedef {import("../wire").Link} Link */

/** @returns {string} the URL pasted into the search field, with a scheme */
function pasted() {
  const url = address.value.searchParams.get("url") ?? "";
  return url === "" || /^[a-z]+:/i.test(url) ? url : `https://${url}`;
}

/** @param {string} place @returns {import("preact").JSX.Element} a cancel button that leads to this path */
const cancel = (place) => (
  <a class="button quiet" href={place}>
    {t().common.cancel}
  </a>
);

/** Issues that belong to no field, shown above the button. @param {ApiError} error */
const unplaced = (error) => {
  if (error.code !== "invalid_request") return undefined;
  const said = error.issues.map(issueText).join(" ");
  return said && <ErrorMessage own error={new ApiError(error.code, said)} />;
};

export function NewLink() {
  const words = t().links;
  const rules = useSignal(asDrafts([]));
  return (
    <Page title={t().link.add}>
      <WithLinkHost>
        {({ id: account_id }, host) => (
          <Form
            submit={words.make}
            more={cancel("/links")}
            renderError={unplaced}
            send={async ({ url = "", code = "" }, key) => {
              const body = { account_id, url: url.trim(), code: code.trim() || null, rules: asRules(rules.value) };
              const { link } = await call("POST /v1/links", { body, key });
              changed("/v1/links");
              go(`/links/${link.id}`);
            }}
          >
            <Target url={pasted()} />
            <div class="column">
              <Field name="code" label={words.code} optional hint={words.codeHint(host)} autocomplete="off" />
            </div>
            <RulesEditor rules={rules} />
          </Form>
        )}
      </WithLinkHost>
    </Page>
  );
}

/** @param {{url: string}} props */
const Target = ({ url }) => (
  <Field
    name="url"
    label={t().link.target}
    hint={t().links.targetHint}
    pasted="url"
    inputMode="url"
    autocomplete="off"
    defaultValue={url}
    required
  />
);

/** @param {{id: string}} props */
export function EditLink({ id }) {
  const words = t().links;
  const read = useResource("GET /v1/links/{link_id}", { link_id: id });
  return (
    <Page title={words.edit}>
      <Loaded read={read}>
        {({ link }) => (link.state === "deleted" ? <Note>{t().link.wasDeleted}</Note> : <Change link={link} />)}
      </Loaded>
    </Page>
  );
}

const CHANGED_ELSEWHERE = "changed_elsewhere";

/** @param {Link} a @param {Link} b @returns {boolean} true if their destinations are the same */
const same = (a, b) => JSON.stringify([a.url, a.rules]) === JSON.stringify([b.url, b.rules]);

/**
 * The edit form. If the link has been changed elsewhere since the form was opened, the form shows that change before
 * overwriting it.
 * @param {{link: Link}} props
 */
function Change({ link }) {
  const words = t().links;
  const base = useSignal(link);
  const theirs = useSignal(/** @type {Link | null} */ (null));
  const round = useSignal(0);
  const rules = useSignal(asDrafts(link.rules));
  useLayoutEffect(() => {
    document.getElementById("conflict")?.focus();
  }, [theirs.value]);

  const take = () => {
    if (!theirs.value) return;
    rules.value = asDrafts(theirs.value.rules);
    base.value = theirs.value;
    theirs.value = null;
    round.value += 1;
  };
  return (
    <>
      <p class="lead">
        <strong>{bare(link)}</strong> <span class="hint">{words.codeStays}</span>
      </p>
      <Form
        key={round.value}
        submit={words.save}
        more={cancel(`/links/${link.id}`)}
        renderError={(error) =>
          error.code === CHANGED_ELSEWHERE && theirs.value ? (
            <Note kind="watch">
              <p role="alert">
                <strong id="conflict" tabIndex={-1}>
                  {words.meanwhile.said}
                </strong>
              </p>
              <p>{words.meanwhile.now}</p>
              <Leads rules={theirs.value.rules} url={theirs.value.url} />
              <p>{words.meanwhile.choose}</p>
              <p class="actions">
                <button type="button" class="quiet" onClick={take}>
                  {words.meanwhile.take}
                </button>
              </p>
            </Note>
          ) : (
            unplaced(error)
          )
        }
        send={async ({ url = "" }, key) => {
          const now = (await call("GET /v1/links/{link_id}", { link_id: link.id })).link;
          if (!same(now, base.value)) {
            base.value = now;
            theirs.value = now;
            throw new ApiError(CHANGED_ELSEWHERE);
          }
          const body = { url: url.trim(), rules: asRules(rules.value) };
          await call("PATCH /v1/links/{link_id}", { link_id: link.id, body, key });
          changed("/v1/links");
          go(`/links/${link.id}`);
        }}
      >
        <Target url={base.value.url} />
        <RulesEditor rules={rules} />
      </Form>
    </>
  );
}
