// Makes a call from a request: path, query and body parsed by the operation, and a signal that follows the caller.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import type { Operation } from '../contract/operation.ts';
import { checkUnsupported } from './check-unsupported.ts';
import type { Call } from './handler.ts';
import { parseBody } from './parse-body.ts';
import { readQuery } from './parse-pairs.ts';
import { parseWith } from './parse-with.ts';
import { BODY_CAP_BYTES, checkBody, readBody } from './request-body.ts';
import type { Upgrade } from './upgrade.ts';

export interface CallParts {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly operation: Operation;
  readonly params: Readonly<Record<string, string>>;
  readonly principal: unknown;
  readonly upgrade?: Upgrade | undefined;
  /** How long the body may take; the default when absent. */
  readonly bodyDeadline_ms?: number | undefined;
  /** Runs before a body that has arrived is parsed. */
  readonly onTurn?: () => void;
}

/**
 * The call. It comes at once for an operation without a body, such as the calls of the gateway. Throws or rejects with
 * `invalid_request` and the failing fields, `unsupported_media_type`, `payload_too_large` or `timeout`.
 */
export function toCall(parts: CallParts): Call<Operation, unknown> | Promise<Call<Operation, unknown>> {
  const { request, response, operation } = parts;
  if (operation.body !== undefined) return readCall(parts, operation.body);
  const call = new ParsedCall(parts);
  // A raw handler sends the 100 itself, once it knows that it wants the body.
  if (request.headers.expect !== undefined && operation.answer.kind !== 'raw') response.writeContinue();
  return call as Call<Operation, unknown>;
}

async function readCall(parts: CallParts, schema: z.ZodType): Promise<Call<Operation, unknown>> {
  const { request, response, operation } = parts;
  const form = { type: operation.bodyType ?? 'json', cap_bytes: operation.rawBody?.cap_bytes ?? BODY_CAP_BYTES };
  checkBody(request, form);
  const call = new ParsedCall(parts);
  if (request.headers.expect !== undefined) response.writeContinue();
  const bytes = await readBody(request, form, parts.bodyDeadline_ms);
  parts.onTurn?.();
  const body = parseBody(bytes, form.type);
  if (operation.unsupported !== undefined) checkUnsupported(operation.unsupported, body);
  call.body = parseWith(schema, body, 'body');
  if (operation.rawBody !== undefined) call.rawBody = bytes;
  return call as Call<Operation, unknown>;
}

class ParsedCall {
  readonly params: unknown;
  readonly query: unknown;
  body: unknown;
  rawBody: Uint8Array | undefined;
  readonly principal: unknown;
  readonly request: IncomingMessage;
  readonly upgrade: Upgrade | undefined;
  readonly #response: ServerResponse;
  #signal: AbortSignal | undefined;

  constructor({ request, response, operation, params, principal, upgrade }: CallParts) {
    this.params = operation.params === undefined ? params : parseWith(operation.params, params, 'path');
    this.query = operation.query === undefined ? {} : parseWith(operation.query, readQuery(request.url ?? ''), 'query');
    this.principal = principal;
    this.request = request;
    this.upgrade = upgrade;
    this.#response = response;
  }

  /** Made on the first use: most calls are over before anything asks for their signal. */
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
