// Whether a service that was started runs: it has lived for a while, or its port accepts a connection.
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 50;
const HOSTS = ['127.0.0.1', '::1'] as const;

/** Resolves then. Rejects when `signal` aborts first. */
export async function untilProved(
  port: number | null | undefined,
  alive_ms: number,
  signal: AbortSignal,
): Promise<void> {
  const enough = new AbortController();
  const either = AbortSignal.any([signal, enough.signal]);
  try {
    const alive = sleep(alive_ms, undefined, { signal: either });
    await (port == null ? alive : Promise.race([alive, untilAccepts(port, either)]));
  } finally {
    enough.abort();
  }
}

async function untilAccepts(port: number, signal: AbortSignal): Promise<void> {
  for (;;) {
    const answers = await Promise.all(HOSTS.map((host) => accepts(host, port)));
    if (answers.includes(true)) return;
    await sleep(POLL_MS, undefined, { signal });
  }
}

function accepts(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const settle = (isOpen: boolean) => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.setTimeout(POLL_MS, () => settle(false));
    socket.once('connect', () => settle(true));
    socket.once('error', () => settle(false));
  });
}
