/** An operation of the API reference: access, parameters, body, responses, errors and the "Try it" form. */

import { textLanguage } from "../settings.js";
import { t } from "../words.js";
import { exampleOf, rowsOf, valueOf } from "./schema.js";
import { Text } from "./text.jsx";
import { TryIt } from "./try-it.jsx";

const JSON_TYPE = "application/json";

/** @param {{method: string, path: string, about: any, contract: any}} props `about`: the OpenAPI operation object */
export function Operation({ method, path, about, contract }) {
  const words = t().reference;
  const { schemas } = contract.components;
  const content = about.requestBody?.content[JSON_TYPE];
  const responses = responsesOf(about, contract);
  const access = accessOf(about, responses);
  const [[status, success]] = /** @type {[[string, any]]} */ (
    Object.entries(responses).filter(([code]) => code.startsWith("2"))
  );
  const example = content && (content.example ?? exampleOf(content.schema, schemas));
  return (
    <>
      {about.description && (
        <p lang="en">
          <Text text={about.description} />
        </p>
      )}
      <p>{words.access[access]}</p>
      {about.parameters.length > 0 && <Parameters parameters={about.parameters} schemas={schemas} />}
      {content && <Body title={words.body} schema={content.schema} schemas={schemas} example={example} />}
      {Object.entries(success.content).map(([type, { schema }]) => (
        <ResponseDetails key={type} status={status} type={type} schema={schema} schemas={schemas} />
      ))}
      <Refusals responses={responses} codes={contract["x-codes"]} />
      <TryIt method={method} path={path} about={about} access={access} example={example} />
    </>
  );
}

/**
 * @param {any} about
 * @param {any} contract
 * @returns {Record<string, any>} the operation's responses by status, without references
 */
function responsesOf(about, contract) {
  const entries = Object.entries(about.responses).map(([status, { $ref = "", ...response }]) => [
    status,
    $ref ? contract.components.responses[$ref.split("/").pop()] : response,
  ]);
  return Object.fromEntries(entries);
}

/**
 * @param {any} about
 * @param {Record<string, any>} responses
 * @returns {"anybody" | "bearer" | "session" | "worker" | "refresh"} the kind of credential required
 */
function accessOf({ security }, responses) {
  const [name = "anybody"] = Object.keys(security[0] ?? {});
  const refusesKeys = "session_required" in (responses[403]?.content[JSON_TYPE].examples ?? {});
  return refusesKeys ? "session" : /** @type {any} */ (name);
}

/** @param {{parameters: any[], schemas: Record<string, any>}} props */
function Parameters({ parameters, schemas }) {
  const words = t().reference;
  const rows = parameters.map(({ name, in: where, required, schema, description = "" }) => {
    const [type = "", ...facts] = valueOf(schema, schemas, words.types);
    const place = words.places[/** @type {"path" | "query" | "header"} */ (where)];
    return { path: name, required, type, place, facts, description };
  });
  return <Fields title={words.parameters} rows={rows} />;
}

/** @param {{title: string, schema: any, schemas: Record<string, any>, example?: unknown}} props */
function Body({ title, schema, schemas, example }) {
  const words = t().reference;
  const rows = rowsOf(schema, schemas, words.types);
  return (
    <>
      {rows.length > 0 ? <Fields title={title} rows={rows} /> : <Plain title={title}>{words.nothing}</Plain>}
      {rows.length > 0 && <Example example={example} />}
    </>
  );
}

/** @param {{status: string, type: string, schema: any, schemas: Record<string, any>}} props */
function ResponseDetails({ status, type, schema, schemas }) {
  const words = t().reference;
  const title = words.response(status);
  if (type !== JSON_TYPE || !schema.$ref) return <Plain title={title}>{type}</Plain>;
  return (
    <details class="response">
      <summary>
        {title} <code>{schema.$ref.split("/").pop()}</code>
      </summary>
      <Body title={words.fields} schema={schema} schemas={schemas} example={exampleOf(schema, schemas)} />
    </details>
  );
}

/** @param {{title: string, children: string}} props */
const Plain = ({ title, children }) => (
  <p>
    <strong>{title}</strong> {children}
  </p>
);

/** @param {{example: unknown}} props */
const Example = ({ example }) => (
  <details>
    <summary>{t().reference.example}</summary>
    <pre class="verbatim" tabIndex={0}>
      <code>{JSON.stringify(example, null, 2)}</code>
    </pre>
  </details>
);

/**
 * @param {{title: string, rows: (import("./schema.js").Row & {place?: string})[]}} props `place`: where a parameter is
 *   in the request
 */
function Fields({ title, rows }) {
  const words = t().reference;
  return (
    <>
      <h4>{title}</h4>
      <dl class="fields">
        {rows.map(({ path, required, type, place, facts, description }) => (
          <div key={path}>
            <dt>
              <code>{path}</code>
            </dt>
            <dd>
              <p class="labels">
                <code class="label">{type}</code>
                {place && <span class="label">{place}</span>}
                {!required && <span class="label">{words.absent}</span>}
                <span class="small">{facts.join(" · ")}</span>
              </p>
              {description && (
                <p lang="en">
                  <Text text={description} />
                </p>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}

/** @param {{responses: Record<string, any>, codes: Record<string, {message: string, remedy?: string}>}} props */
function Refusals({ responses, codes }) {
  const words = t().reference;
  const errors = Object.entries(responses).flatMap(([status, { content }]) =>
    status.startsWith("2") ? [] : Object.keys(content[JSON_TYPE].examples).map((code) => ({ status, code })),
  );
  return (
    <details class="response">
      <summary>{words.refusals(errors.length)}</summary>
      <dl class="fields">
        {errors.map(({ status, code }) => {
          // In English, show the service's own texts.
          const { message = "", remedy = null } = codes[code] ?? {};
          const own = (textLanguage() !== "en" && t().errors[code]) || [message, remedy];
          return (
            <div key={code}>
              <dt>
                {status} <code>{code}</code>
              </dt>
              <dd>
                <Text text={own.filter(Boolean).join(" ")} />
              </dd>
            </div>
          );
        })}
      </dl>
    </details>
  );
}
