/** What the type check must refuse: state of an isolate that belongs to one request. */

import { EventBuffer } from "../../src/buffer.js";
import { Config } from "../../src/config.js";
import { keep } from "../../src/isolate.js";

keep(new Config());
keep(new EventBuffer());

class Reading {
  /** @type {Map<string, {reading: Promise<void> | null}>} */
  byHost = new Map();
}
// @ts-expect-error -- a promise, however deep
keep(new Reading());
// @ts-expect-error -- an answer
keep({ last: new Response() });
// @ts-expect-error -- a stream
keep({ bodies: new Set([new TransformStream().readable]) });
// @ts-expect-error -- an object that a class inherits
keep(new (class extends Reading {})());
