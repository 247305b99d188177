// Answers in the place of the resolver while it is away: REFUSED to every question, so that no program waits or takes it for a broken network.
import { setTimeout as sleep } from 'node:timers/promises';
import { notes } from '../../core/dns/dns-codes.ts';
import { refuseMessage } from '../../core/dns/refuse-message.ts';
import { errorCode } from '../../core/error-code.ts';
import { type DnsFront, openDnsFront } from '../../dns/dns-front.ts';

const NOTE = {
  code: notes.NOT_READY,
  text: 'what resolves names under the network policy of this sprite is being started again; ask again in some seconds',
};
/** The kernel may still be closing what a process that was killed has left. */
const TRIES = 20;
const TRY_MS = 25;

/** Rejects with the error of the system where a program holds the port, and with an AbortError. */
export async function openStandIn(port: number, signal: AbortSignal): Promise<DnsFront> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await openDnsFront(async (message) => refuseMessage(message, NOTE), port);
    } catch (error) {
      if (errorCode(error) !== 'EADDRINUSE' || tries >= TRIES) throw error;
    }
    await sleep(TRY_MS, undefined, { signal });
  }
}
