// One call from one request: path, query and body parsed by the row, and a signal that follows the caller.
import type { IncomingMessage, ServerResponse } from 'node:http';
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

/** Throws `invalid_request` with the failing fields, `unsupported_media_type`, `payload_too_large` or `timeout`. */
export async function toCall({
  request,
  response,
  row,
  params,
  principal,
  upgrade,
}: CallParts): Promise<Call<Operation, unknown>> {
  const type = row.bodyType ?? 'json';
  if (row.body !== undefined) checkBody(request, type);
  const path = row.params === undefined ? params : parseWith(row.params, params, 'path');
  const query = row.query === undefined ? {} : parseWith(row.query, readQuery(request.url ?? ''), 'query');
  // A raw handler says so itself, once it knows that it wants the body.
  if (request.headers.expect !== undefined && row.answer.kind !== 'raw') response.writeContinue();
  const body = row.body === undefined ? undefined : parseWith(row.body, await readBody(request, type), 'body');
  let signal: AbortSignal | undefined;
  return {
    params: path,
    query,
    body,
    principal,
    request,
    ...(upgrade === undefined ? {} : { upgrade }),
    get signal() {
      signal ??= toSignal(response);
      return signal;
    },
  } as Call<Operation, unknown>;
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
