// One call from one request: path, query and body parsed by the row, and a signal that follows the caller.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import type { Operation } from '../contract/operation.ts';
import type { Call } from './handler.ts';
import { checkBody, parseWith, readBody, readQuery } from './request-body.ts';
import type { Upgrade } from './upgrade.ts';

export interface CallParts {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly row: Operation;
  readonly params: Readonly<Record<string, string>>;
  readonly principal: unknown;
  readonly upgrade?: Upgrade | undefined;
}

/**
 * At once for a row without a body, which is how calls of the gateway are. Throws or rejects with `invalid_request` and the failing
 * fields, `unsupported_media_type`, `payload_too_large` or `timeout`.
 */
export function toCall(parts: CallParts): Call<Operation, unknown> | Promise<Call<Operation, unknown>> {
  const { request, response, row } = parts;
  if (row.body !== undefined) return readCall(parts, row.body);
  const call = new ParsedCall(parts);
  // A raw handler says so itself, once it knows that it wants the body.
  if (request.headers.expect !== undefined && row.answer.kind !== 'raw') response.writeContinue();
  return call as Call<Operation, unknown>;
}

async function readCall(parts: CallParts, schema: z.ZodType): Promise<Call<Operation, unknown>> {
  const { request, response, row } = parts;
  const type = row.bodyType ?? 'json';
  checkBody(request, type);
  const call = new ParsedCall(parts);
  if (request.headers.expect !== undefined) response.writeContinue();
  call.body = parseWith(schema, await readBody(request, type), 'body');
  return call as Call<Operation, unknown>;
}

class ParsedCall {
  readonly params: unknown;
  readonly query: unknown;
  body: unknown;
  readonly principal: unknown;
  readonly request: IncomingMessage;
  readonly upgrade: Upgrade | undefined;
  readonly #response: ServerResponse;
  #signal: AbortSignal | undefined;

  constructor({ request, response, row, params, principal, upgrade }: CallParts) {
    this.params = row.params === undefined ? params : parseWith(row.params, params, 'path');
    this.query = row.query === undefined ? {} : parseWith(row.query, readQuery(request.url ?? ''), 'query');
    this.principal = principal;
    this.request = request;
    this.upgrade = upgrade;
    this.#response = response;
  }

  /** Made when somebody asks for it: most calls are over before anybody would. */
  get signal(): AbortSignal {
    this.#signal ??= toSignal(this.#response);
    return this.#signal;
  }
}

function toSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const follow = () => {
    if (!response.writableFinished) controller.abort();
  };
  if (response.destroyed) follow();
  else response.once('close', follow);
  return controller.signal;
}
