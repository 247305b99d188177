// The front of the resolver, at the port to which the kernel still leads questions. The agent, which answers there while no resolver runs, makes way.
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '../../core/error-code.ts';
import { type DnsFront, openDnsFront, type Resolve } from '../../dns/dns-front.ts';

const POLL_MS = 10;

/**
 * Opens the front, at another port where a program holds the wanted one for `patience_ms`. Rejects with the error of the system when there is no free one.
 *
 * @param wanted 0 for any.
 */
export async function openFrontAgain(resolve: Resolve, wanted: number, patience_ms: number): Promise<DnsFront> {
  const end_ms = performance.now() + patience_ms;
  while (wanted !== 0) {
    try {
      return await openDnsFront(resolve, wanted);
    } catch (error) {
      if (errorCode(error) !== 'EADDRINUSE') throw error;
      if (performance.now() >= end_ms) break;
    }
    await sleep(POLL_MS);
  }
  return await openDnsFront(resolve);
}
