// A channel that an agent asked for right before its machine stood still, and that the platform has taken after that.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { createChanges } from '../../src/platform/changes.ts';
import { openChannels } from '../../src/platform/channels/open-channels.ts';
import { silentLog } from '../support/silent-log.ts';

/** The platform's end of a connection whose other end says nothing. */
async function openSilentSocket(): Promise<Socket> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const agent = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
  onTestFinished(() => {
    agent.destroy();
    server.close();
  });
  const [socket] = await once(server, 'connection');
  return socket;
}

test('is cut before its machine starts, so that no call goes over it', async () => {
  const changes = createChanges();
  const channels = openChannels(changes, undefined, silentLog, systemClock);
  onTestFinished(() => channels[Symbol.asyncDispose]());
  changes.publish({ type: 'machine_moved', machine_id: 'm_1', sprite_id: 'spr_1', state: 'suspended' });
  const incarnation = { generation: 1, incarnation: 'a'.repeat(32) };
  const socket = await openSilentSocket();
  channels.attach({ machine_id: 'm1', sprite_id: 'spr_1', incarnation, readKnown: async () => incarnation, socket });
  expect(channels.find('m1')).toBeDefined();
  changes.publish({ type: 'machine_moved', machine_id: 'm_1', sprite_id: 'spr_1', state: 'starting' });
  expect(channels.find('m1')).toBeUndefined();
});
