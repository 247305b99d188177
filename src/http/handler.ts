// The types of handlers, one for each operation of the contract: an operation without a handler fails to compile.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BodyOf, Operation, Operations, ParamsOf, QueryOf, RawBodyOf, ValueOf } from '../contract/operation.ts';
import type { EventSink } from './event-sink.ts';
import type { PassOn } from './pass-on.ts';
import type { Upgrade } from './upgrade.ts';

/** One parsed request. `Principal` is the result of the edge's `authenticate`. */
export interface Call<O extends Operation, Principal = undefined> {
  readonly params: ParamsOf<O>;
  readonly query: QueryOf<O>;
  readonly body: BodyOf<O>;
  /** The bytes of the body, empty when there is none; only for an operation with `rawBody`. */
  readonly rawBody: RawBodyOf<O>;
  readonly principal: Principal;
  /** Aborted when the caller goes away before the answer is complete. */
  readonly signal: AbortSignal;
  readonly request: IncomingMessage;
  /**
   * Set for a `raw` operation that allows it when the caller asks for a WebSocket. Until it is accepted, `response` answers as
   * usual.
   */
  readonly upgrade?: Upgrade | undefined;
}

/** A JSON answer with another status than the operation's first one, or with headers. */
export class Reply<T> {
  readonly status: number;
  readonly body: T;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, body: T, headers: Readonly<Record<string, string>> = {}) {
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

type Awaitable<T> = T | Promise<T>;

export type Handler<O extends Operation, P> = O['answer'] extends { kind: 'json' }
  ? (call: Call<O, P>) => Awaitable<ValueOf<O> | Reply<ValueOf<O>>>
  : O['answer'] extends { kind: 'empty' }
    ? (call: Call<O, P>) => Awaitable<void>
    : O['answer'] extends { kind: 'text' }
      ? (call: Call<O, P>) => Awaitable<string>
      : O['answer'] extends { kind: 'stream' }
        ? (call: Call<O, P>, sink: EventSink<ValueOf<O>>) => Awaitable<void>
        : (call: Call<O, P>, response: ServerResponse) => Awaitable<void>;

/** One handler for each operation, no more and no fewer. */
export type Handlers<Ops extends Operations, P = undefined> = { readonly [K in keyof Ops]: Handler<Ops[K], P> };

/** What an edge takes: an operation may also be passed on to another server. */
export type EdgeHandlers<Ops extends Operations, P> = { readonly [K in keyof Ops]: Handler<Ops[K], P> | PassOn<P> };
