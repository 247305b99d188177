// Callers that wait for a transaction that does not come, in a process of their own: `waiters.ts SOCKET COUNT`.
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const [path = '', count = '0'] = process.argv.slice(2);
const TARGET = '/v1/replication/app.db/wait?txid=ffffffffffffffff&timeout=300';
const AT_ONCE = 50;
const PAUSE_MS = 20;

/** False when the queue of the socket was full. */
function open(): Promise<boolean> {
  const socket = connect(path);
  return new Promise((resolve) => {
    socket.once('error', () => resolve(false));
    socket.write(`GET ${TARGET} HTTP/1.1\r\nHost: x\r\n\r\n`, (error) => resolve(!error));
  });
}

let opened = 0;
while (opened < Number(count)) {
  const results = await Promise.all(Array.from({ length: Math.min(AT_ONCE, Number(count) - opened) }, open));
  opened += results.filter(Boolean).length;
  await sleep(PAUSE_MS);
}
process.send?.({ type: 'ready' });
process.once('disconnect', () => process.exit(0));
