/** Reads the configuration from the database. */

/** If a batch fails, it is retried once after this pause. */
const REPEAT_AFTER_MS = 100;

/**
 * @typedef {{root_url?: string, not_found_url?: string}} Fallbacks URLs to which requests for `/` and for paths without
 *   a link are redirected
 * @typedef {Fallbacks & {host: string}} LinkHost
 *
 * @typedef {object} Found result of one read
 * @property {number} version
 * @property {number} level of the write budget
 * @property {number} levelDay epoch day of the level
 * @property {number} cronAt epoch ms of the last known cron run, 0 for none
 * @property {LinkHost | undefined} linkHost
 * @property {Map<string, string>} hosts Host as JSON, for each requested hostname
 * @property {Map<string, string | undefined>} links Link as JSON for each requested code; undefined if there is none
 */

/**
 * @typedef {object} MetaRow
 * @property {number} version
 * @property {number | null} level @property {number | null} level_day epoch day of the level
 * @property {number | null} cron_at @property {string | null} host LinkHost as JSON
 */
const META =
  "select version.value as version, state.value ->> 'level' as level, state.value ->> '$.written.day' as level_day, " +
  "state.value ->> 'ran_at' as cron_at, " +
  "(select body from config where key = 'host') as host " +
  "from meta as version left join meta as state on state.key = 'state' where version.key = 'config_version'";

const SITES =
  "select asked.value as hostname, substr(config.key, 6 + length(asked.value)) as path, body " +
  "from json_each(?) as asked cross join config " +
  "on config.key >= 'path:' || asked.value || '/' and config.key < 'path:' || asked.value || '0' " +
  "where body is not null";

const LINKS =
  "select asked.value as code, body from json_each(?) as asked " +
  "cross join config on config.key = 'link:' || asked.value where body is not null";

/**
 * Reads the version and the requested items in one transaction, so that they are consistent.
 * @param {D1Database} db @param {Set<string>} hostnames @param {Set<string>} codes
 * @returns {Promise<Found>}
 */
export async function query(db, hostnames, codes) {
  const statements = [db.prepare(META)];
  if (hostnames.size > 0) statements.push(db.prepare(SITES).bind(JSON.stringify([...hostnames])));
  if (codes.size > 0) statements.push(db.prepare(LINKS).bind(JSON.stringify([...codes])));
  const answers = await db.batch(statements).catch(async () => {
    await scheduler.wait(REPEAT_AFTER_MS);
    return db.batch(statements);
  });
  const [meta] = /** @type {MetaRow[]} */ (answers[0]?.results ?? []);
  const text = meta?.host ?? "false";
  const linkHost = /** @type {LinkHost | false} */ (JSON.parse(text)) || undefined;
  /** @type {Map<string, string[]>} */
  const sites = new Map([...hostnames].map((hostname) => [hostname, []]));
  /** @type {Map<string, string | undefined>} */
  const links = new Map([...codes].map((code) => [code, undefined]));
  for (const row of answers.slice(1).flatMap(({ results }) => results)) {
    const { hostname, path, code, body } = /** @type {Record<string, string>} */ (row);
    if (code !== undefined) links.set(code, body);
    else sites.get(String(hostname))?.push(`[${JSON.stringify(path)},${body}]`);
  }
  return {
    version: meta?.version ?? 0,
    level: meta?.level ?? 0,
    levelDay: meta?.level_day ?? 0,
    cronAt: meta?.cron_at ?? 0,
    linkHost,
    hosts: new Map(
      [...sites].map(([hostname, list]) => [
        hostname,
        `{"link_host":${hostname === linkHost?.host ? text : "false"},"sites":[${list.join(",")}]}`,
      ]),
    ),
    links,
  };
}
