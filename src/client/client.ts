// A typed client made from the operations of the contract: parameters in, a parsed value or a stream of parsed lines out.

import type { z } from 'zod';
import type { Operation, Operations, ValueOf } from '../contract/operation.ts';
import { withoutLastSlashes } from '../core/without-last-slashes.ts';
import { type Deadline, startDeadline } from './deadline.ts';
import { toConnectionFailure, toRefusal } from './failure.ts';
import { parseAnswer, readLines, readText } from './read-answer.ts';
import { toTarget } from './request-target.ts';

export const CALL_DEADLINE_MS = 10_000;
const NO_CONTENT = 204;

/** Makes the calls: a dispatcher of undici, such as an Agent, or what has as much of one. */
export interface Requester {
  request(options: RequesterCall): Promise<RequesterAnswer>;
}

export interface RequesterCall {
  /** Scheme and host. */
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  readonly method: Operation['method'];
  readonly headers: Record<string, string>;
  readonly body: string | null;
  readonly signal: AbortSignal;
  /** 0: the client has limits of its own. */
  readonly headersTimeout: 0;
  readonly bodyTimeout: 0;
}

export interface RequesterAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** `dump` drops the rest of it. */
  readonly body: AsyncIterable<Uint8Array> & { dump(): Promise<unknown> };
}

export interface ClientOptions {
  /** Scheme, host and, when the server has one, a base path. `http://remora` for a dispatcher over a Unix socket. */
  readonly origin: string;
  /** Read for each call, so that a replaced pool is used at once. */
  readonly dispatcher: () => Requester;
  /** Read for each call. */
  readonly headers?: () => Readonly<Record<string, string>>;
  /** The deadline of a call, and of a stream until its headers; 10 s unless said otherwise. */
  readonly timeout_ms?: number;
  /** How often streams that are quiet by themselves are to show that they are alive; they are not asked for it unless said otherwise. */
  readonly keepAlive_s?: number;
}

type Slot<Name extends string, S> = [S] extends [z.ZodType]
  ? Record<never, never> extends z.input<S>
    ? { readonly [K in Name]?: z.input<S> | undefined }
    : undefined extends z.input<S>
      ? { readonly [K in Name]?: z.input<S> }
      : { readonly [K in Name]: z.input<S> }
  : Record<never, never>;

type Schema<O extends Operation, K extends 'params' | 'query' | 'body'> =
  O extends Readonly<Record<K, infer S>> ? S : undefined;

export interface Common {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  readonly timeout_ms?: number | undefined;
  /** The longest pause between two pieces of a stream, keep-alives among them; no limit by default. */
  readonly idle_ms?: number | undefined;
}

/** The parameters of a call; a parameter that the operation requires is required here. */
export type Input<O extends Operation> = Common &
  Slot<'params', Schema<O, 'params'>> &
  Slot<'query', Schema<O, 'query'>> &
  Slot<'body', Schema<O, 'body'>>;

type Arguments<O extends Operation> = Record<never, never> extends Input<O> ? [input?: Input<O>] : [input: Input<O>];

/** The ids of the operations whose answer is of this kind. */
type IdsOf<Ops extends Operations, Kind> = {
  [K in keyof Ops]: Ops[K]['answer']['kind'] extends Kind ? K : never;
}[keyof Ops] &
  string;

/** The value of a call: parsed for `json`, a string for `text`, undefined for `empty` and for a `json` answer without content. */
export type Result<O extends Operation> = O['answer'] extends { kind: 'text' } ? string : ValueOf<O>;

export interface Client<Ops extends Operations> {
  /** Throws UpstreamError: refused, not reached, late, or not in the shape of the operation. */
  call<K extends IdsOf<Ops, 'json' | 'empty' | 'text'>>(id: K, ...input: Arguments<Ops[K]>): Promise<Result<Ops[K]>>;
  /** Lines as they arrive. Leaving the loop ends the call; a broken stream throws UpstreamError; a clean end ends the loop. */
  stream<K extends IdsOf<Ops, 'stream'>>(id: K, ...input: Arguments<Ops[K]>): AsyncIterable<ValueOf<Ops[K]>>;
}

interface Parts extends Common {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

export function createClient<const Ops extends Operations>(operations: Ops, options: ClientOptions): Client<Ops> {
  const { origin, pathname } = new URL(options.origin);
  const base = withoutLastSlashes(pathname);
  const limit_ms = options.timeout_ms ?? CALL_DEADLINE_MS;

  async function send(operation: Operation, input: Parts, signal: AbortSignal): Promise<RequesterAnswer> {
    const body = toBody(operation, input.body);
    const answer = await options.dispatcher().request({
      origin,
      path: base + toTarget(operation, input.params, input.query),
      method: operation.method,
      headers: { accept: acceptOf(operation), ...body.headers, ...options.headers?.(), ...input.headers },
      body: body.text,
      signal,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const { statusCode: status, headers } = answer;
    if (isSuccess(operation, status)) return answer;
    const text = await readText(answer.body).catch(() => '');
    throw toRefusal({ status, text, headers });
  }

  async function call(operation: Operation, input: Parts): Promise<unknown> {
    using deadline = startDeadline(input.timeout_ms ?? limit_ms, input.signal);
    try {
      const answer = await send(operation, input, deadline.signal);
      switch (operation.answer.kind) {
        case 'json':
          if (answer.statusCode === NO_CONTENT && operation.answer.noContent !== undefined) {
            await answer.body.dump();
            return undefined;
          }
          return parseAnswer(operation.answer.schema, await readText(answer.body), answer.statusCode);
        case 'text':
          return await readText(answer.body);
        default:
          await answer.body.dump();
          return undefined;
      }
    } catch (error) {
      throw toConnectionFailure(deadline.signal.aborted ? deadline.signal.reason : error);
    }
  }

  async function* stream(operation: Operation, input: Parts): AsyncGenerator<unknown> {
    if (operation.answer.kind !== 'stream') return;
    using deadline = startDeadline(input.timeout_ms ?? limit_ms, input.signal);
    try {
      const { idle_ms } = input;
      const keepalive = operation.answer.quiet === true ? options.keepAlive_s : undefined;
      const asked = keepalive === undefined ? input : { ...input, query: { keepalive, ...input.query } };
      const answer = await send(operation, asked, deadline.signal);
      deadline.clear();
      const body = idle_ms === undefined ? answer.body : limitPauses(answer.body, idle_ms, deadline);
      for await (const line of readLines(body)) yield parseAnswer(operation.answer.schema, line, answer.statusCode);
    } catch (error) {
      throw toConnectionFailure(deadline.signal.aborted ? deadline.signal.reason : error);
    }
  }

  function operationOf(id: string): Operation {
    const operation = operations[id];
    if (operation === undefined) throw new TypeError(`there is no operation ${id}`);
    return operation;
  }

  // The operations are data, so that the link between an id and its types ends here; `parseAnswer` has made the value that the
  // operation promises.
  return {
    call: (id: string, input: Parts = {}) => call(operationOf(id), input),
    stream: (id: string, input: Parts = {}) => stream(operationOf(id), input),
  } as unknown as Client<Ops>;
}

/**
 * Not left to undici, whose clock wakes the process twice a second while a stream is open. The time for which the reader does not
 * ask for more does not count.
 */
async function* limitPauses(
  body: AsyncIterable<Uint8Array>,
  idle_ms: number,
  deadline: Deadline,
): AsyncGenerator<Uint8Array> {
  deadline.restart(idle_ms);
  for await (const piece of body) {
    deadline.clear();
    yield piece;
    deadline.restart(idle_ms);
  }
}

function toBody(operation: Operation, body: unknown): { text: string | null; headers: Record<string, string> } {
  if (body === undefined || body === null) return { text: null, headers: {} };
  if (operation.bodyType === 'form') {
    const form = new URLSearchParams();
    for (const [name, value] of Object.entries(body)) if (value !== undefined) form.append(name, String(value));
    return { text: form.toString(), headers: { 'content-type': 'application/x-www-form-urlencoded' } };
  }
  return { text: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
}

function acceptOf(operation: Operation): string {
  if (operation.answer.kind === 'stream') return 'application/x-ndjson';
  return operation.answer.kind === 'text' ? '*/*' : 'application/json';
}

function isSuccess(operation: Operation, status: number): boolean {
  if (status >= 200 && status < 300) return true;
  return operation.answer.kind === 'json' && operation.answer.also?.includes(status) === true;
}
