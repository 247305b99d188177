// The memory that all channels of a platform may hold together: those that hold the most wait, a channel beside them does not, and
// nothing is lost.
import type { ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { serveChannel } from '../../src/agent/channel/serve-channel.ts';
import type { ChannelSession } from '../../src/platform/channels/channel-session.ts';
import { createChannels } from '../../src/platform/channels/channels.ts';
import { eventually } from '../support/eventually.ts';
import { silentLog } from '../support/silent-log.ts';

const MEGABYTE = 1024 * 1024;
const BUDGET_BYTES = 4 * MEGABYTE;
const HOARDERS = 3;
const STREAMS = 32;
/** What each channel reads before the next look, and what a piece takes by the count. */
const SLACK_BYTES = HOARDERS * MEGABYTE;

/** Sends a megabyte on each stream. */
function pour(authority: string, stream: ServerHttp2Stream): boolean {
  stream.respond({ ':status': 200 });
  stream.resume();
  const piece = Buffer.alloc(16 * 1024, authority);
  Readable.from(Array.from({ length: MEGABYTE / piece.length }, () => piece)).pipe(stream);
  return true;
}

async function openConnection(): Promise<readonly [Socket, Socket]> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
  const dialled = connect((server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => void server.close());
  return [await accepted, dialled];
}

async function openStreams(channel: ChannelSession) {
  const streams = await Promise.all(
    Array.from({ length: STREAMS }, (_, index) => channel.connect(`port:${index + 1}`)),
  );
  for (const stream of streams) stream.end();
  return streams;
}

async function lengthOf(stream: AsyncIterable<Buffer>): Promise<number> {
  let length_bytes = 0;
  for await (const part of stream) length_bytes += part.length;
  return length_bytes;
}

test('channels that nobody reads wait together within the budget, and one that is read goes on', async () => {
  const channels = createChannels({
    log: silentLog,
    now_ms: () => performance.now(),
    heldByAll_bytes: BUDGET_BYTES,
  });
  onTestFinished(() => channels[Symbol.asyncDispose]());
  const open = async (name: string): Promise<ChannelSession> => {
    const [socket, dialled] = await openConnection();
    const session = serveChannel(dialled, { targets: [pour], onClose: () => undefined });
    onTestFinished(() => session.destroy());
    const incarnation = { generation: 1, incarnation: 'ab'.repeat(16) };
    channels.attach({ machine_id: name, sprite_id: name, incarnation, readKnown: async () => incarnation, socket });
    return await channels.wait(name, 1_000);
  };
  const hoarders = await Promise.all(Array.from({ length: HOARDERS }, (_, index) => open(`hoarder-${index}`)));
  const held_bytes = () => hoarders.reduce((sum, channel) => sum + channel.held_bytes, 0);
  const streams = (await Promise.all(hoarders.map(openStreams))).flat();
  await eventually(() => held_bytes() > BUDGET_BYTES);
  // Time for what must not come.
  await sleep(300);
  expect(held_bytes()).toBeLessThan(BUDGET_BYTES + SLACK_BYTES);

  const beside = await open('beside');
  const stream = await beside.connect('port:1');
  stream.end();
  expect(await lengthOf(stream)).toBe(MEGABYTE);

  const lengths = await Promise.all(streams.map((each) => lengthOf(each)));
  expect(lengths).toEqual(streams.map(() => MEGABYTE));
  expect(held_bytes()).toBe(0);
});
