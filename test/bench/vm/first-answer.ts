// The moment of the first answer of a machine that starts or comes back.
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Question {
  readonly port: number;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const PAUSE_MS = 10;
const LIMIT_MS = 15 * 60_000;
/** What the machine does not answer soon it has not taken: a packet sent before it listened is lost for a second. */
const ATTEMPT_MS = 5_000;

/** Resolves with the moment of the first answer with 200. Each attempt has a connection of its own. */
export async function untilAnswer(question: Question): Promise<number> {
  const end = performance.now() + LIMIT_MS;
  for (;;) {
    if (await isAnswered(question)) return performance.now();
    if (performance.now() > end) throw new Error(`no answer to ${question.path} within ${LIMIT_MS} ms`);
    await sleep(PAUSE_MS);
  }
}

function isAnswered({ port, path, headers = {} }: Question): Promise<boolean> {
  return new Promise((resolve) => {
    const target = { host: '127.0.0.1', port, path, headers, agent: false, timeout: ATTEMPT_MS };
    const call = request(target, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    call.on('timeout', () => call.destroy());
    call.on('error', () => resolve(false));
    call.end();
  });
}
