// Asks another platform process for a pipe: one HTTP/1.1 request, and after its 101 the bytes of a connection to a machine.
import type { Duplex } from 'node:stream';
import { PIPE_PROTOCOL } from '../../contract/pipes.ts';
import type { RemoraError } from '../../core/remora-error.ts';
import { nodeHttp } from '../../http/node-http.ts';
import { readPassedAnswer } from './read-passed-answer.ts';

export interface PipeRequest {
  /** A connection to that process, which becomes the pipe. */
  readonly socket: Duplex;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** What to throw where no answer comes, or none that can be read. */
  readonly toAway: () => RemoraError;
}

/** Throws the error that is answered, the reason of the signal, and what `toAway` makes. */
export async function dialPipe({ socket, target, headers, signal, toAway }: PipeRequest): Promise<Duplex> {
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
  const onAbort = () => socket.destroy(signal.reason);
  socket.on('error', () => undefined);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  const call = nodeHttp.request({
    createConnection: () => socket as never,
    path: target,
    headers: { ...headers, connection: 'Upgrade', upgrade: PIPE_PROTOCOL },
  });
  call.once('upgrade', (response, switched, head) => {
    if (response.headers.upgrade?.toLowerCase() !== PIPE_PROTOCOL) {
      reject(toAway());
      return;
    }
    if (head.length > 0) switched.unshift(head);
    resolve(switched);
  });
  call.once('response', (response) => {
    const answer = { statusCode: response.statusCode ?? 0, headers: response.headers, body: response };
    readPassedAnswer(answer, toAway).then(() => reject(toAway()), reject);
  });
  call.once('error', () => reject(signal.aborted ? signal.reason : toAway()));
  call.end();
  try {
    return await promise;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
