/** The page snippet, inserted by the build. */
declare const SNIPPET: string;

/** Types of objects that belong to a single request. */
type OfOneRequest =
  | PromiseLike<unknown>
  | ReadableStream
  | WritableStream
  | Request
  | Response
  | Body
  | AbortSignal
  | AbortController
  | ExecutionContext
  | D1Database
  | D1PreparedStatement;

/** `T`, with `never` in place of each part that belongs to a single request. */
type Data<T> = T extends OfOneRequest
  ? never
  : T extends
        string | number | boolean | bigint | symbol | null | undefined | CryptoKey | ((...args: never[]) => unknown)
    ? T
    : T extends Map<infer K, infer V>
      ? Map<Data<K>, Data<V>>
      : T extends Set<infer V>
        ? Set<Data<V>>
        : { [K in keyof T]: Data<T[K]> };
