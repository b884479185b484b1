/** The forms to create and edit a link. */

import { useSignal } from "@preact/signals";
import { Fragment } from "preact";
import { useLayoutEffect } from "preact/hooks";

import { ApiError, call } from "../api.js";
import { announce } from "../created.js";
import { asUrl } from "../pasted.js";
import { changed, isMissing, useResource } from "../resource.js";
import { address, go, rememberPage } from "../router.js";
import { DeletedLink } from "../ui/deleted-link.jsx";
import { Destinations } from "../ui/destinations.jsx";
import { DisabledNote } from "../ui/disabled.jsx";
import { Field, Form } from "../ui/form.jsx";
import { ImportTotals } from "../ui/import-totals.jsx";
import { LinkFacts } from "../ui/link-facts.jsx";
import { useNotFoundUrl, WithLinkHost } from "../ui/link-host.jsx";
import { OptionFields, optionsBody, useOptions } from "../ui/link-options.jsx";
import { TextFields, useTexts } from "../ui/link-texts.jsx";
import { NotFound } from "../ui/not-found.jsx";
import { ErrorMessage, Loaded, Note, Page, issueText } from "../ui/parts.jsx";
import { RulesEditor } from "../ui/rules.jsx";
import { asDrafts, asRules } from "../rule-drafts.js";
import { targetsOf } from "../split.js";
import { UTM, utmOf, withUtm } from "../utm.js";
import { bare } from "../short-url.js";
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

/** Errors that do not belong to a field, which are shown above the button. @param {ApiError} error */
const unplaced = (error) => {
  if (error.code !== "invalid_request") return undefined;
  const said = error.issues.map(issueText).join(" ");
  return said && <ErrorMessage own error={new ApiError(error.code, said)} />;
};

export function NewLink() {
  const words = t().links;
  const draft = useDraft({ url: pasted() });
  const code = useSignal("");
  return (
    <Page title={t().link.add}>
      <WithLinkHost>
        {({ id: account_id, link_host }, host) => (
          <Form
            submit={words.make}
            more={cancel("/links")}
            renderError={unplaced}
            send={async ({ code = "" }, key) => {
              const isHere = rememberPage();
              const body = { account_id, code: code.trim() || null, ...bodyOf(draft, null) };
              const { link } = await call("POST /v1/links", { body, key });
              await announce(link);
              changed("/v1/links", "/v1/tags");
              if (isHere()) go(`/links/${link.id}`);
            }}
          >
            <Target url={draft.url} />
            <div class="short-link">
              <Field
                name="code"
                label={words.code}
                optional
                prefix={`${host}/`}
                hint={words.codeHint}
                invalid={words.codeForm}
                autocomplete="off"
                value={code.value}
                onInput={(/** @type {any} */ event) => (code.value = event.currentTarget.value)}
              />
            </div>
            <Preview host={host} code={code.value.trim()} draft={draft} />
            <More draft={draft} notFoundUrl={link_host?.not_found_url ?? null} />
          </Form>
        )}
      </WithLinkHost>
    </Page>
  );
}

/**
 * The fields of a link in a form.
 * @typedef {ReturnType<typeof useDraft>} Draft
 * @param {Partial<Link>} link the initial values
 */
function useDraft(link) {
  return {
    url: useSignal(link.url ?? ""),
    rules: useSignal(asDrafts(link.rules ?? [])),
    texts: useTexts(link),
    options: useOptions(link),
  };
}

/**
 * @template {"" | null} E
 * @param {Draft} draft
 * @param {E} empty the value of an empty field: "" to remove the stored value, null for a new link
 */
const bodyOf = ({ url, rules, texts: { title, tags, note }, options }, empty) => ({
  url: url.value.trim(),
  rules: asRules(rules.value),
  title: title.value.trim() || empty,
  tags: tags.value,
  note: note.value.trim() || empty,
  ...optionsBody(options, empty),
});

/** @param {{draft: Draft, notFoundUrl: string | null}} props the fields after the destination; see `OptionFields` */
const More = ({ draft, notFoundUrl }) => (
  <>
    <TextFields texts={draft.texts} url={draft.url} />
    <RulesEditor rules={draft.rules} isSplit={draft.options.variants.value.length > 0} />
    <OptionFields
      options={draft.options}
      url={draft.url}
      hasRules={draft.rules.value.length > 0}
      notFoundUrl={notFoundUrl}
    />
  </>
);

/**
 * A preview of the link with the destinations of visitors who match no rule. Renders nothing without a destination.
 * @param {{host: string, code: string, draft: Draft}} props
 */
function Preview({ host, code, draft: { url, options } }) {
  const urls = targetsOf({ url: url.value, split: options.variants.value })
    .map((target) => asUrl(target.trim()))
    .filter((target) => URL.canParse(target));
  return urls.length === 0 ? null : (
    <p class="preview">
      <span class="small">{t().links.preview}</span>
      <code>
        {host}/{code || <em>{t().links.randomCode}</em>}
      </code>{" "}
      →{" "}
      {urls.map((target, i) => (
        <Fragment key={i}>
          {i > 0 && ", "}
          <code>{target}</code>
        </Fragment>
      ))}
    </p>
  );
}

/**
 * The destination, and fields for its UTM parameters.
 * @param {{url: import("@preact/signals").Signal<string>}} props
 */
function Target({ url }) {
  const words = t().links;
  return (
    <div class="destination">
      <Field
        name="url"
        label={t().link.target}
        hint={words.targetHint}
        pasted="url"
        inputMode="url"
        autocomplete="off"
        value={url.value}
        onInput={(/** @type {any} */ event) => (url.value = event.currentTarget.value)}
        required
      />
      <details class="utm">
        <summary>{words.utm.title}</summary>
        <p class="hint">{words.utm.explain}</p>
        <div class="choices">
          {UTM.map((name) => (
            <Field
              key={name}
              name={`utm_${name}`}
              label={words.utm.names[name]}
              placeholder={words.utm.examples[name]}
              autocomplete="off"
              disabled={url.value.trim() === ""}
              value={utmOf(url.value, name)}
              onInput={(/** @type {any} */ event) => (url.value = withUtm(url.value, name, event.currentTarget.value))}
            />
          ))}
        </div>
      </details>
    </div>
  );
}

/** @param {{id: string}} props */
export function EditLink({ id }) {
  const words = t().links;
  const read = useResource("GET /v1/links/{link_id}", { link_id: id });
  if (isMissing(read)) return <NotFound kind="link" />;
  return (
    <Page title={words.edit}>
      <Loaded read={read}>
        {({ link }) =>
          link.state === "deleted" ? (
            <DeletedLink link={link} />
          ) : link.disabled ? (
            <DisabledNote kind="link" disabled={link.disabled} />
          ) : (
            <>
              <Change link={link} />
              <ImportTotals kind="link" id={link.id} />
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

const CHANGED_ELSEWHERE = "changed_elsewhere";

/** @param {Link} link @returns {string} the fields that the form edits */
const editable = ({ url, rules, title, tags, note, split, starts_at, ends_at, after_url, forward_query }) =>
  JSON.stringify([url, rules, title, tags, note, split, starts_at, ends_at, after_url, forward_query]);

/** @param {{link: Link}} props the edit form, which starts again with the version that the user chooses */
function Change({ link }) {
  const chosen = useSignal({ link, round: 0 });
  return (
    <>
      <p class="lead">
        <strong>{bare(link)}</strong> <span class="hint">{t().links.codeStays}</span>
      </p>
      <ChangeForm
        key={chosen.value.round}
        link={chosen.value.link}
        take={(theirs) => (chosen.value = { link: theirs, round: chosen.value.round + 1 })}
      />
    </>
  );
}

/**
 * The edit form. If the link was changed elsewhere since the form was opened, the form shows this change, and the user
 * chooses a version.
 * @param {{link: Link, take: (theirs: Link) => void}} props `take`: called with the changed link if the user chooses it
 */
function ChangeForm({ link, take }) {
  const words = t().links;
  const base = useSignal(link);
  const theirs = useSignal(/** @type {Link | null} */ (null));
  const draft = useDraft(link);
  const notFoundUrl = useNotFoundUrl(link.account_id);
  useLayoutEffect(() => {
    document.getElementById("conflict")?.focus();
  }, [theirs.value]);
  return (
    <Form
      submit={words.save}
      more={cancel(`/links/${link.id}`)}
      renderError={(error) =>
        error.code === CHANGED_ELSEWHERE && theirs.value ? (
          <Conflict link={theirs.value} take={() => theirs.value && take(theirs.value)} />
        ) : (
          unplaced(error)
        )
      }
      send={async (_, key) => {
        const isHere = rememberPage();
        const now = (await call("GET /v1/links/{link_id}", { link_id: link.id })).link;
        if (editable(now) !== editable(base.value)) {
          base.value = now;
          theirs.value = now;
          throw new ApiError(CHANGED_ELSEWHERE);
        }
        await call("PATCH /v1/links/{link_id}", { link_id: link.id, body: bodyOf(draft, ""), key });
        changed("/v1/links", "/v1/tags");
        if (isHere()) go(`/links/${link.id}`);
      }}
    >
      <Target url={draft.url} />
      <More draft={draft} notFoundUrl={notFoundUrl} />
    </Form>
  );
}

/** @param {{link: Link, take: () => void}} props the version that was saved elsewhere */
function Conflict({ link, take }) {
  const words = t().links.meanwhile;
  return (
    <Note kind="watch">
      <p role="alert">
        <strong id="conflict" tabIndex={-1}>
          {words.said}
        </strong>
      </p>
      <p>{words.now}</p>
      <LinkFacts link={link} />
      <Destinations link={link} heading="h2" />
      <p>{words.choose}</p>
      <p class="actions">
        <button type="button" class="quiet" onClick={take}>
          {words.take}
        </button>
      </p>
    </Note>
  );
}
