/** What capnp.py puts into the modules and the bindings of the emulator's processes. */

/** The first settings of a script's process. */
declare const __SETTINGS__: ScriptSettings;

/** The main module of the script that was uploaded. */
declare module "__MAIN__" {
  const main: unknown;
  export default main;
}

declare namespace Cloudflare {
  interface Env {
    INIT: object;
    D1: DurableObjectNamespace<import("./d1.js").D1Object>;
    ORIGIN: Fetcher;
    DATABASES: Fetcher;
    EMULATOR: Fetcher;
    NET: Fetcher;
    /** The scripts' processes by name, and each one's EmulatorControl by the name with `_control`. */
    [service: string]: any;
  }
}

interface ScriptSettings {
  offset_ms: number;
  max_d1_queries: number;
}

/** By day number, or by id. */
type Keyed<T> = Record<string | number, T>;

/** What a day of an account counts in its databases. */
interface Meter {
  rows_read: number;
  rows_written: number;
  read_queries: number;
  write_queries: number;
}

interface Limits {
  rows_read: number;
  rows_written: number;
  db_bytes: number;
}

interface Statement {
  sql: string;
  params?: unknown[];
}

interface Route {
  pattern: string;
  zone: string;
  account: string;
  script: string;
  /** none: the route takes its requests away from less specific ones */
  service?: string;
  fail_open: boolean;
}

interface Zone {
  account: string;
  active: boolean;
  routes: Route[];
  /** what a visitor of the name, which may be a wildcard, meets behind the edge */
  hosts: Record<string, "past" | "origin" | "nothing">;
}

/** What the front process knows of an account: `base` is what it had answered by day before this process began. */
interface FrontAccount {
  base: Keyed<number>;
  max_requests: number;
  max_d1_queries: number;
}

interface ScriptCounts {
  requests: number;
  errors: number;
  subrequests: number;
}

/** A fault that waits for a call. */
interface Fault {
  kind: string;
  status: number;
  body?: string;
  delay_s: number;
}
