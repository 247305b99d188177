// A program of Node in the machine of a world: each line that it reads is an attempt, each line that it writes what came of it.
import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { request } from 'node:http';
import { createInterface } from 'node:readline';
import type { Attempt } from './attempt.ts';

const LIMIT_MS = 30_000;
const SILENT_MS = 20_000;
/** Is sent back. */
const PAYLOAD = 'secret-payload';
const outcomes: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'reset',
  ECONNRESET: 'reset',
  EHOSTUNREACH: 'prohibited',
  EACCES: 'prohibited',
  EPERM: 'prohibited',
  EAI_AGAIN: 'unresolved',
  ENOTFOUND: 'unresolved',
};

function toOutcome(error: unknown): string {
  const { code = '', cause } = error as { code?: string; cause?: unknown };
  return outcomes[code] ?? (cause === undefined ? `${error}` : toOutcome(cause));
}

async function fetchText({ host, port }: Attempt): Promise<string> {
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}/`;
  return await (await fetch(url, { signal: AbortSignal.timeout(LIMIT_MS) })).text();
}

/** `fetch` cannot be told which addresses to take. */
function requestText({ host, port, family }: Attempt): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request({ host, port, family, agent: false, timeout: LIMIT_MS }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      answer.once('close', () => resolve(text));
    });
    call.once('error', reject);
    call.end();
  });
}

async function sendDatagram({ host, port }: Attempt): Promise<string> {
  const { address, family } = await lookup(host);
  return await new Promise((resolve, reject) => {
    const socket = createSocket(family === 6 ? 'udp6' : 'udp4');
    const timer = setTimeout(() => end(() => resolve('silent')), SILENT_MS);
    function end(settle: () => void): void {
      clearTimeout(timer);
      socket.close();
      settle();
    }
    socket.once('error', (error) => end(() => reject(error)));
    socket.once('message', (message) => end(() => resolve(`${message}` === PAYLOAD ? 'answered' : 'by another')));
    socket.connect(port, address, () => socket.send(PAYLOAD));
  });
}

async function attempt(given: Attempt): Promise<string> {
  if (given.kind === 'udp') return await sendDatagram(given);
  return (await (given.family === 0 ? fetchText : requestText)(given)).trim();
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${await attempt(JSON.parse(line)).catch(toOutcome)}\n`);
}
