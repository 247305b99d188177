// A port where nobody listens: for a process that must be told its port before it opens one, and for one at which nobody must listen.
import { createServer } from 'node:net';

/** The ports outside of what the kernel gives to those who take any port: that one may have been taken when it is opened a while later. */
const FIRST = 12_000;
const COUNT = 16_000;
/** Each worker of the tests has its share, so that none takes what another one has found and not opened yet. */
const SHARES = 8;
const SHARE = COUNT / SHARES;
const first = FIRST + (Number(process.env.VITEST_POOL_ID ?? 0) % SHARES) * SHARE;
/** What was found is not found again soon. */
let next = Math.floor(Math.random() * SHARE);

export async function openFreePort(host = '127.0.0.1'): Promise<number> {
  for (;;) {
    const port = first + next;
    next = (next + 1) % SHARE;
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, host, () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}
