// A script for the root shell of a machine, and what it printed.
import { connect } from 'node:net';

const LIMIT_MS = 120_000;

/** Asks again while nobody listens yet. Throws at the limit. */
export async function runScript(port: number, script: string, limit_ms = LIMIT_MS): Promise<string> {
  const end = performance.now() + limit_ms;
  for (;;) {
    const left_ms = end - performance.now();
    if (left_ms <= 0) throw new Error(`the machine does not answer: ${script}`);
    // A port that is forwarded takes a connection before the machine does: an answer without its end was none.
    const said = await runOnce(port, `${script}\necho; echo -- the end`, left_ms);
    if (said?.endsWith('\n-- the end\n') === true) return said.slice(0, -'\n-- the end\n'.length);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

function runOnce(port: number, script: string, limit_ms: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    let said = '';
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    const timer = setTimeout(() => socket.destroy(), limit_ms);
    socket.on('connect', () => socket.end(script));
    socket.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    socket.on('error', () => undefined);
    socket.on('end', () => socket.destroy());
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(said === '' ? undefined : said);
    });
  });
}
