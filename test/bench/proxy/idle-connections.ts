// What the proxy keeps for connections on which nothing happens: each has had one answer.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { readMemory, toMegabytes } from '../process-cost.ts';
import type { Figure } from '../table.ts';
import type { Door } from './door.ts';

const BATCH = 100;
const SETTLE_MS = 2_000;

export async function measureIdleConnections(door: Door, count: number): Promise<Figure[]> {
  const pid = door.sprite.platform_pid;
  await sleep(SETTLE_MS);
  const before = readMemory(pid);
  const sockets: Socket[] = [];
  for (let begun = 0; begun < count; begun += BATCH) {
    const size = Math.min(BATCH, count - begun);
    sockets.push(...(await Promise.all(Array.from({ length: size }, () => openAnswered(door)))));
  }
  await sleep(SETTLE_MS);
  const open = sockets.filter((socket) => !socket.closed).length;
  const after = readMemory(pid);
  for (const socket of sockets) socket.destroy();
  const each = (after.anonymous_bytes - before.anonymous_bytes) / count / 1_024;
  return [
    {
      what: `${count} idle connections, of which ${open} stayed open: the platform before`,
      value: toMegabytes(before.rss_bytes),
    },
    { what: '… and with them', value: `${toMegabytes(after.rss_bytes)}, ${each.toFixed(1)} KB each` },
  ];
}

async function openAnswered({ port, host }: Door): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(`GET /1k HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  await once(socket, 'data');
  socket.resume();
  return socket;
}
