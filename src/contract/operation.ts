// What one operation is, as data. The router, the typed client and the OpenAPI document are made from it.
import type { z } from 'zod';
import type { ErrorCode } from './errors.ts';
import type { ListenerName, PlatformListenerName } from './listeners.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * Who may call: `none` = nobody is asked, `organization` = the token of an organization, `any` = that or the token of a sprite, `agent` =
 * the token of a sprite or of its machine, `every` = all three, `operator` = who may open the platform's own socket, where no token is
 * needed. The token of a machine opens `agent` and `every` only: what its agent needs.
 */
export type Access = 'none' | 'organization' | 'any' | 'agent' | 'every' | 'operator';

/**
 * `also`: other statuses with such a value. `noContent`: 204 without a body may be answered in its place; this text says what that means.
 */
interface JsonAnswer {
  readonly kind: 'json';
  readonly status: number;
  readonly schema: z.ZodType;
  readonly also?: readonly number[];
  readonly noContent?: string;
}

/**
 * What a success looks like. `json`: one JSON value. `empty`: no body. `text`: a body of another type. `stream`: NDJSON, or
 * server-sent events when the caller accepts those; each line is one `schema` value. `raw`: the handler owns the exchange (the
 * streaming proxy).
 */
export type Answer =
  | JsonAnswer
  | { readonly kind: 'empty'; readonly status: number }
  | { readonly kind: 'text'; readonly status: number; readonly type: string }
  | {
      readonly kind: 'stream';
      readonly status: number;
      readonly schema: z.ZodType;
      readonly type?: string;
      /** No keep-alive unless `keepalive` asks for it: some readers take every line as a record. */
      readonly quiet?: true;
      /** A WebSocket handshake is answered, and each value is a text frame. */
      readonly upgrades?: true;
    }
  | {
      readonly kind: 'raw';
      /** A WebSocket handshake is handed to the handler; without this field the edge serves it as a plain request. */
      readonly upgrades?: true;
    };

export interface Operation {
  /** `*` only with a `raw` answer: the handler takes every method and reads it itself. */
  readonly method: Method | '*';
  /** `{name}` stands for one segment, `{name...}` at the end for the rest, read raw. */
  readonly path: string;
  readonly summary: string;
  /** Where this operation comes from: names of `sources.ts` with a paragraph, such as `Sandbox API, Endpoints; Sprites API`. */
  readonly source: string;
  /** The group of the OpenAPI document that it appears in; decides nothing. */
  readonly tag: string;
  /** The listeners at which it is served; at every other one it is refused. Required of all that is served, see `LocalOperation`. */
  readonly servedAt?: readonly string[];
  readonly access?: Access;
  /** Whether the operation changes nothing, so that a reading token opens it. When absent the method decides: GET reads. */
  readonly readOnly?: boolean;
  /** The answer may hold a credential, so that no cache may keep it. */
  readonly noStore?: true;
  /**
   * The handler itself judges from which incarnation of its machine a sprite calls; for every other operation this is done
   * before the handler.
   */
  readonly judgesIncarnation?: true;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /**
   * Fields of a JSON body that clients send and that Remora does not implement. A request that uses one is refused; silently
   * dropping it would mislead the client.
   */
  readonly unsupported?: readonly string[];
  /** The type of the body; `json` when absent. */
  readonly bodyType?: 'json' | 'form';
  /**
   * The handler gets the bytes of the body as well, exactly as they came: a signature is over them, and not over a value. A body of
   * more than `cap_bytes` is a 413; without this field the cap is that of every listener.
   */
  readonly rawBody?: { readonly cap_bytes: number };
  readonly answer: Answer;
  /**
   * Served on an upgrade to this protocol only; an operation without it may have the same method and path. The handler owns the
   * connection.
   */
  readonly upgrade?: 'websocket' | 'remora-channel/1' | 'remora-pipe/1';
  /**
   * Served to callers whose Accept names a stream and no JSON only; an operation without it may have the same method and path, and
   * serves all others.
   */
  readonly form?: 'stream';
  readonly errors: readonly ErrorCode[];
}

export type Operations = Readonly<Record<string, Operation>>;

/** An operation that the agent serves. */
export interface LocalOperation extends Operation {
  readonly servedAt: readonly [ListenerName, ...ListenerName[]];
}

/** An operation that the platform serves. */
export interface PlatformOperation extends Operation {
  readonly servedAt: readonly [PlatformListenerName, ...PlatformListenerName[]];
}

export type LocalOperations = Readonly<Record<string, LocalOperation>>;
export type PlatformOperations = Readonly<Record<string, PlatformOperation>>;

export type ParamsOf<O extends Operation> = O['params'] extends z.ZodObject
  ? z.output<O['params']>
  : Record<string, string>;
export type QueryOf<O extends Operation> = O['query'] extends z.ZodObject ? z.output<O['query']> : Record<never, never>;
export type BodyOf<O extends Operation> = O['body'] extends z.ZodType ? z.output<O['body']> : undefined;
export type RawBodyOf<O extends Operation> = O['rawBody'] extends object ? Uint8Array : undefined;
/**
 * The value a handler returns and a client receives, in the form that is emitted; for a stream, one line of it. Undefined stands for an
 * answer without a body.
 */
export type ValueOf<O extends Operation> = O['answer'] extends { schema: infer S extends z.ZodType }
  ? z.output<S> | (O['answer'] extends { noContent: string } ? undefined : never)
  : undefined;

/** Keeps the literal types of an operation while checking that it is one. */
export function defineOperation<const O extends Operation>(operation: O): O {
  return operation;
}

/** Does what `defineOperation` does, for an operation that the agent serves. */
export function defineLocalOperation<const O extends LocalOperation>(operation: O): O {
  return operation;
}

/** Does what `defineOperation` does, for an operation that the platform serves. */
export function definePlatformOperation<const O extends PlatformOperation>(operation: O): O {
  return operation;
}
