// undici takes a reset for the end of an answer whose end is that of its connection, and a part for the whole.
import type { Duplex } from 'node:stream';
import { errorCode } from '../core/error-code.ts';

/** One that undici gives such errors itself. */
const BROKEN = 'UND_ERR_SOCKET';

/** Call it before undici gets the socket: a reset has another code then, with which the answer breaks off. */
export function tellBreaks(socket: Duplex): void {
  socket.prependListener('error', (error: Error) => {
    if (errorCode(error) === 'ECONNRESET') Object.assign(error, { code: BROKEN });
  });
}
