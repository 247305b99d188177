// What an agent makes of an answer to its request for a channel that is no channel: the platform's own word is final, and nobody else's.
import { createServer, type RequestListener, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { type ChannelOptions, createChannel } from '../../src/agent/channel/channel.ts';
import { CHANNEL_PROTOCOL } from '../../src/contract/channel.ts';
import { ERROR_MARKER } from '../../src/contract/errors.ts';
import { systemClock } from '../../src/core/clock.ts';
import { Secret } from '../../src/core/secret.ts';
import { eventually } from '../support/eventually.ts';
import { openTestPlatform } from '../support/open-platform.ts';
import { silentLog } from '../support/silent-log.ts';

const PAGE = '<html><body><h1>404 Not Found</h1><hr>nginx</body></html>';

/** Answers as `answer` does, and gives a channel once it is told to. */
async function openServer(answer: RequestListener) {
  let asked = 0;
  let isOpen = false;
  const sockets = new Set<Duplex>();
  const server = createServer({ shouldUpgradeCallback: () => isOpen }, (request, response) => {
    asked += 1;
    answer(request, response);
  });
  server.on('upgrade', (_request, socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${CHANNEL_PROTOCOL}\r\n\r\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: () => asked,
    open() {
      isOpen = true;
    },
  };
}

function startChannel(config: Partial<ChannelOptions['config']>) {
  const states: (readonly [string, string | undefined])[] = [];
  const warnings: unknown[] = [];
  const lines: string[] = [];
  const channel = createChannel({
    clock: systemClock,
    // The shortest waits.
    random: () => 0,
    log: {
      ...silentLog,
      debug: (_fields, message) => void lines.push(message),
      warn: (fields) => void warnings.push(fields),
    },
    part: { state: 'off', set: (state, reason) => void states.push([state, reason]) },
    config: { baseUrl: undefined, token: new Secret('token'), app: 'acme', machine: 'm-1', ...config },
    identity: () => ({}),
    mayDial: async () => undefined,
    mayHandshake: () => true,
  });
  onTestFinished(() => channel[Symbol.asyncDispose]());
  channel.start(new AbortController().signal, []);
  return { channel, states, warnings, again: () => lines.includes('the channel is dialled again') };
}

test.each([403, 404, 426])(
  'a %i that is not of the platform is asked about again, and warned of once',
  async (status) => {
    const server = await openServer((_request, response) => {
      response.writeHead(status, { 'content-type': 'text/html' }).end(PAGE);
    });
    const { channel, states, warnings } = startChannel({ baseUrl: server.url });
    await eventually(() => server.asked() > 2);
    const reason = `the answer ${status} does not come from the platform`;
    expect(states.at(-1)).toEqual(['degraded', `the platform cannot reach into this machine: ${reason}`]);
    expect(warnings).toEqual([{ reason }]);
    server.open();
    await eventually(() => channel.status().state === 'open');
    expect(states.at(-1)?.[0]).toBe('ok');
  },
);

test.each([
  [403, { [ERROR_MARKER]: 'forbidden' }],
  [404, { [ERROR_MARKER]: 'not_found' }],
  [426, { [ERROR_MARKER]: 'upgrade_required', upgrade: 'remora-channel/9' }],
])('a %i of the platform is final, and warned of', async (status, headers) => {
  const server = await openServer((_request, response) => response.writeHead(status, headers).end());
  const { channel, states, warnings, again } = startChannel({ baseUrl: server.url });
  await eventually(() => states.at(-1)?.[1]?.startsWith('the platform gives this agent no channel'));
  expect(states.at(-1)).toEqual(['off', expect.stringContaining(`the platform answered ${status} `)]);
  expect(warnings).toEqual([{ reason: expect.stringContaining(String(status)) }]);
  // A resume asks once more.
  await channel.recover();
  expect([server.asked(), again()]).toEqual([2, false]);
});

/** The real platform, with one sprite whose machine it runs itself. */
async function openMachine() {
  const platform = await openTestPlatform();
  const name = { organization: 'acme', sprite: 'dev-1' } as const;
  await platform.admin.createSprite({ organization: 'acme', name: name.sprite });
  const { app, id } = await platform.admin.readMachine(name);
  return { config: { baseUrl: platform.url, token: await platform.admin.createToken(name), app, machine: id } };
}

test.each([
  ['the token of a sprite whose machine it runs', '', '403 forbidden'],
  ['an operation that it does not have', '/nowhere', '404 not_found'],
])('the platform has the last word about %s', async (_name, path, said) => {
  const { config } = await openMachine();
  const { states, warnings, again } = startChannel({ ...config, baseUrl: config.baseUrl + path });
  await eventually(() => states.at(-1)?.[1]?.startsWith('the platform gives this agent no channel'));
  expect(states.at(-1)).toEqual(['off', `the platform gives this agent no channel: the platform answered ${said}`]);
  expect([warnings.length, again()]).toEqual([1, false]);
});

test('a proxy that takes the header Upgrade away is named, and the channel asked for again', async () => {
  const { config } = await openMachine();
  const proxy = await openServer((request, response) => {
    const { connection: _connection, upgrade: _upgrade, ...headers } = request.headers;
    const onward = send(`${config.baseUrl}${request.url}`, { headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy()).end();
  });
  const { states } = startChannel({ ...config, baseUrl: proxy.url });
  await eventually(() => proxy.asked() > 1);
  expect(states.at(-1)).toEqual([
    'degraded',
    expect.stringMatching(/answered 426 upgrade_required: something before it, .* takes the header Upgrade away/),
  ]);
});
