/** Cases that the type check must reject: isolate state that belongs to one request. */

import { EventBuffer } from "../../src/buffer.js";
import { Config } from "../../src/config.js";
import { keep } from "../../src/isolate.js";

keep(new Config());
keep(new EventBuffer());

class Reading {
  /** @type {Map<string, {reading: Promise<void> | null}>} */
  byHost = new Map();
}
// @ts-expect-error -- a promise at any depth
keep(new Reading());
// @ts-expect-error -- a response
keep({ last: new Response() });
// @ts-expect-error -- a stream
keep({ bodies: new Set([new TransformStream().readable]) });
// @ts-expect-error -- an inherited property
keep(new (class extends Reading {})());
