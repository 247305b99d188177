// Finding the channel of a machine for calls over one connection that is kept.
import { once } from 'node:events';
import { Agent, createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createReachMachine, type ReachMachineDeps } from '../../src/platform/sprite-api/reach-machine.ts';
import type { Principal } from '../../src/platform/tokens/principal.ts';

/** A sprite whose machine is suspended at each call. */
function openReach(start: ReachMachineDeps['start']) {
  const row = { id: 'm1', state: 'suspended', wanted: 'running', host: 'h', config: {} };
  return createReachMachine({
    sprites: { findFor: async () => ({ id: 's1' }) },
    machines: { findBySprite: async () => row, find: async () => row },
    trustMachines: true,
    start,
    arriving: { begin: () => ({ [Symbol.dispose]: () => undefined }), isFallingAsleep: () => false },
    channels: { find: () => ({}), wait: async () => ({}) },
    connect_ms: 1_000,
    others: undefined,
    host: 'h',
  } as unknown as ReachMachineDeps);
}

test('a call that has woken a machine leaves nothing at its connection', async () => {
  const gone: AbortSignal[] = [];
  const reach = openReach(async (_id, signal) => gone.push(signal));
  const listeners: number[] = [];
  const server = createServer(async (request, response) => {
    await reach(request, {} as Principal, 'dev-1');
    listeners.push(request.socket.listenerCount('close'));
    response.end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => {
    agent.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  for (let call = 0; call < 5; call += 1) {
    const [answer] = await once(get({ port, host: '127.0.0.1', agent }), 'response');
    await once(answer.resume(), 'end');
  }
  expect(new Set(listeners).size).toBe(1);
  expect(gone.map(({ aborted }) => aborted)).toEqual(Array(5).fill(false));
});

test('a start ends with its caller', async () => {
  const started = Promise.withResolvers<AbortSignal>();
  const reach = openReach(async (_id, signal) => {
    started.resolve(signal);
    await once(signal, 'abort');
    signal.throwIfAborted();
  });
  const refused = Promise.withResolvers<unknown>();
  const server = createServer((request) => void reach(request, {} as Principal, 'dev-1').catch(refused.resolve));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const call = get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }).on('error', () => undefined);
  await started.promise;
  call.destroy();
  expect(await refused.promise).toMatchObject({ code: 'not_reachable' });
});
