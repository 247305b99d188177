// The body of a request as the content of a file: it comes to its end or throws, and a caller that is told to go on is told so here.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { RemoraError } from '../../core/remora-error.ts';
import { readCallerBody } from '../../http/caller-body.ts';

/** A number of bytes that no file exceeds. */
const NO_CAP = Number.MAX_SAFE_INTEGER;

/** Throws `timeout` when the caller goes silent, and an error of no known kind when it goes away. */
export async function* readContent(request: IncomingMessage, response: ServerResponse): AsyncGenerator<Buffer> {
  if (request.destroyed && !request.complete) throw endedEarly();
  const body = await readCallerBody(request, response, NO_CAP);
  if (body === undefined) throw endedEarly();
  try {
    const content = body.open();
    if (content instanceof Buffer) yield content;
    else if (content !== null) yield* content;
  } finally {
    body.close();
  }
}

function endedEarly(): RemoraError {
  return new RemoraError('invalid_request', 'the body ended early');
}
