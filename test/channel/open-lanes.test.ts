// What a resume does to the lanes of an agent: over real connections.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { OpenLanes } from '../../src/agent/channel/open-lanes.ts';
import { eventually } from '../support/eventually.ts';

test('lanes are closed at once, and who uses one learns of it when the recovery lets it', async () => {
  const server = createServer((socket) => socket.resume());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  async function dial(): Promise<Socket> {
    const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
    await once(socket, 'connect');
    return socket;
  }

  const lanes = new OpenLanes();
  const [first, second, closed] = await Promise.all([lanes.add(dial()), lanes.add(dial()), lanes.add(dial())]);
  closed.destroy();
  await once(closed, 'close');
  const ends: string[] = [];
  first.on('close', () => ends.push('first'));
  second.on('close', () => ends.push('second'));
  const late = lanes.add(dial());
  const release = lanes.cutWith(undefined);
  await expect(late).rejects.toThrow('resumed');
  expect([first.destroyed, second.destroyed]).toEqual([true, true]);
  const left = () => new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)));
  await eventually(async () => (await left()) === 0);
  expect(ends).toEqual([]);
  release();
  expect(ends).toEqual(['first', 'second']);
});
