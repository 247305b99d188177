// Asks the machines API to suspend this machine: once, on a fresh connection, within ten seconds. It never retries, because the
// answer to a suspend that works is mostly lost in the snapshot.
import { toErrorMessage } from '../../core/error-message.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { Client, errors } from '../../http/undici.ts';
import type { MachinesApiAddress } from './machines-api.ts';
import { ASK_LIMIT_MS } from './suspender.ts';

/**
 * Resolves when the platform accepted (any 2xx). Throws `upstream_refused` with the platform's status and message when it refused,
 * `upstream_failed` when it could not be reached, and `upstream_timeout` when it did not answer: then the outcome is unknown.
 */
export async function askSuspend(api: MachinesApiAddress, path: string, limit_ms = ASK_LIMIT_MS): Promise<void> {
  const client = new Client(api.origin, {
    connect: {
      timeout: Math.min(3_000, limit_ms),
      ...(api.socketPath === undefined ? {} : { socketPath: api.socketPath }),
    },
    headersTimeout: limit_ms,
    bodyTimeout: limit_ms,
  });
  const deadline = AbortSignal.timeout(limit_ms);
  try {
    const answer = await client.request({ method: 'POST', path, headers: api.headers(), signal: deadline });
    const text = await answer.body.text();
    if (answer.statusCode < 200 || answer.statusCode > 299) throw refusal(answer.statusCode, text);
  } catch (error) {
    if (error instanceof RemoraError) throw error;
    throw toFailure(error, deadline.aborted, limit_ms);
  } finally {
    await client.destroy();
  }
}

function refusal(status: number, text: string): RemoraError {
  const platform = text.slice(0, 500).trim();
  const message = `the platform refused the suspend with ${status}${platform === '' ? '' : `: ${platform}`}; the machine stays awake`;
  return new RemoraError('upstream_refused', message, { details: { status } });
}

function toFailure(error: unknown, late: boolean, limit_ms: number): RemoraError {
  const reason = toErrorMessage(error);
  const unanswered = late || error instanceof errors.HeadersTimeoutError || error instanceof errors.BodyTimeoutError;
  if (unanswered) {
    const message = `the platform did not answer within ${limit_ms} ms; whether it took the suspend shows in what happens next`;
    return new RemoraError('upstream_timeout', message, { cause: error });
  }
  const message = `the machines API could not be reached (${reason}); the machine stays awake`;
  return new RemoraError('upstream_failed', message, { cause: error });
}
