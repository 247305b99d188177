// A program in the machine of a world that takes times. Each line that it reads is a series, each line that it writes the milliseconds of each call.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { makeQuery } from '../../support/dns-messages.ts';

export type Series =
  /** Questions for addresses, the names in turn, over one socket. */
  | { readonly type: 'questions'; readonly server: string; readonly names: readonly string[]; readonly count: number }
  /** Connections, each until the other end has accepted it. */
  | { readonly type: 'connections'; readonly address: string; readonly port: number; readonly count: number };

const LIMIT_MS = 5_000;

async function timeQuestions({ server, names, count }: Extract<Series, { type: 'questions' }>): Promise<number[]> {
  const socket = createSocket('udp4');
  await new Promise<void>((resolve) => socket.connect(53, server, resolve));
  const times: number[] = [];
  for (let id = 0; id < count; id += 1) {
    const query = makeQuery({ id, name: names[id % names.length] ?? '' });
    const begun_ms = performance.now();
    socket.send(query);
    await once(socket, 'message', { signal: AbortSignal.timeout(LIMIT_MS) });
    times.push(performance.now() - begun_ms);
  }
  socket.close();
  return times;
}

async function timeConnections({ address, port, count }: Extract<Series, { type: 'connections' }>): Promise<number[]> {
  const times: number[] = [];
  for (let made = 0; made < count; made += 1) {
    const begun_ms = performance.now();
    const socket = connect({ host: address, port });
    await once(socket, 'connect', { signal: AbortSignal.timeout(LIMIT_MS) });
    times.push(performance.now() - begun_ms);
    socket.destroy();
    await once(socket, 'close');
  }
  return times;
}

for await (const line of createInterface({ input: process.stdin })) {
  const series = JSON.parse(line) as Series;
  const times = await (series.type === 'questions' ? timeQuestions(series) : timeConnections(series));
  process.stdout.write(`${JSON.stringify(times)}\n`);
}
