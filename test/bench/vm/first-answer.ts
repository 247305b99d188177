// The time from the start of an emulator to the first answer of a machine, and where it goes.
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const PAUSE_MS = 10;
const LIMIT_MS = 15 * 60_000;

/** Resolves with the moment of the first answer with 200. Each attempt has a connection of its own. */
export async function untilAnswer(port: number, path: string): Promise<number> {
  const end = performance.now() + LIMIT_MS;
  for (;;) {
    if (await isAnswered(port, path)) return performance.now();
    if (performance.now() > end) throw new Error(`no answer to ${path} within ${LIMIT_MS} ms`);
    await sleep(PAUSE_MS);
  }
}

/** What the machine does not answer soon it has not taken: a packet sent before it listened is lost for a second. */
const ATTEMPT_MS = 5_000;

function isAnswered(port: number, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const call = request({ host: '127.0.0.1', port, path, agent: false, timeout: ATTEMPT_MS }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    call.on('timeout', () => call.destroy());
    call.on('error', () => resolve(false));
    call.end();
  });
}
