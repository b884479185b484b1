/** Values that capnp.py inserts into the modules and bindings of the emulator's processes. */

/** Initial settings of a script's process. */
declare const __SETTINGS__: ScriptSettings;

/** The main module of the uploaded script. */
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
    /** The scripts' processes by name, and the EmulatorControl of each by name with the suffix `_control`. */
    [service: string]: any;
  }
}

interface ScriptSettings {
  offset_ms: number;
  max_d1_queries: number;
}

/** By day number, or by id. */
type Keyed<T> = Record<string | number, T>;

/** Database usage of an account on a day. */
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
  /** if missing, matching requests are excluded from less specific routes */
  service?: string;
  fail_open: boolean;
}

interface Zone {
  account: string;
  active: boolean;
  routes: Route[];
  /** the backend of each name, which can be a wildcard */
  hosts: Record<string, "past" | "origin" | "nothing">;
  /** by host */
  front_rules: Record<string, FrontRule>;
}

/** A rule that answers all requests to a host before they reach a worker. */
interface FrontRule {
  kind: "redirect" | "challenge" | "block" | "page";
  location: string;
}

/** Data of an account in the front process. `base`: requests per day before this process started. */
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

/** An active fault. */
interface Fault {
  kind: string;
  status: number;
  body?: string;
  delay_s: number;
}
