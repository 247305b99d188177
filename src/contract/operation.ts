// What one operation is, as data: the row from which the router, the typed client and the OpenAPI document are made.
import type { z } from 'zod';
import type { ErrorCode } from './errors.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Who may call: `none` = nobody is asked, `organization` or `sprite` = that kind of bearer token, `any` = either. */
export type Access = 'none' | 'organization' | 'sprite' | 'any';

/**
 * What a success looks like.
 * `json`: one JSON value. `empty`: no body. `text`: a body of another type. `stream`: NDJSON, or server-sent events when
 * the caller accepts those, one `schema` value a line. `raw`: the handler owns the exchange (the streaming proxy).
 */
export type Answer =
  | { readonly kind: 'json'; readonly status: number; readonly schema: z.ZodType; readonly also?: readonly number[] }
  | { readonly kind: 'empty'; readonly status: number }
  | { readonly kind: 'text'; readonly status: number; readonly type: string }
  | {
      readonly kind: 'stream';
      readonly status: number;
      readonly schema: z.ZodType;
      readonly type?: string;
      /** No keep-alive unless `keepalive` asks for it: for readers who take every line as a record. */
      readonly quiet?: true;
      /** A WebSocket handshake is answered, and each value is a text frame. */
      readonly upgrades?: true;
    }
  | {
      readonly kind: 'raw';
      /** A WebSocket handshake is handed over as such, instead of being served as if it had not asked. */
      readonly upgrades?: true;
    };

export interface Operation {
  /** `*` only with a `raw` answer: every method, read by the handler itself. */
  readonly method: Method | '*';
  /** `{name}` stands for one segment, `{name...}` at the end for the rest, read raw. */
  readonly path: string;
  readonly summary: string;
  /** The document and paragraph this row comes from. */
  readonly source: string;
  readonly tag: string;
  readonly access?: Access;
  /** Changes nothing, though its method is not GET: open to tokens that only read. */
  readonly readOnly?: true;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** How the body is written; `json` unless said otherwise. */
  readonly bodyType?: 'json' | 'form';
  readonly answer: Answer;
  /** Served on an upgrade only; a row without it may have the same method and path. */
  readonly upgrade?: 'websocket';
  readonly errors: readonly ErrorCode[];
}

export type Operations = Readonly<Record<string, Operation>>;

export type ParamsOf<O extends Operation> = O['params'] extends z.ZodObject
  ? z.output<O['params']>
  : Record<string, string>;
export type QueryOf<O extends Operation> = O['query'] extends z.ZodObject ? z.output<O['query']> : Record<never, never>;
export type BodyOf<O extends Operation> = O['body'] extends z.ZodType ? z.output<O['body']> : undefined;
/** The value a handler returns and a client receives, in the form that is emitted; for a stream, one line of it. */
export type ValueOf<O extends Operation> = O['answer'] extends { schema: infer S extends z.ZodType }
  ? z.output<S>
  : undefined;

/** Keeps the literal types of a row while checking that it is one. */
export function defineOperation<const O extends Operation>(row: O): O {
  return row;
}
