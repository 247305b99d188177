// The gateway in the real daemon: WebSockets through its three doors and over its end, and a call over a resume.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocketServer } from 'ws';
import { startAgent } from '../../support/agent-process.ts';
import { soon } from '../../support/soon.ts';
import { openStandInPlatform, type StandInState } from '../../support/stand-in-platform.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { untilJudged } from '../../support/until-judged.ts';
import { openWebSocket } from '../../support/websocket-caller.ts';

const connectors = [{ id: 'conn_1', provider: 'openai', access_policy: { allow_all: true } }];
const target = '/v1/gateway/openai/conn_1/live';

async function openAll(state: Partial<StandInState> = {}, env: Readonly<Record<string, string>> = {}) {
  const platform = await openStandInPlatform({ connectors, ...state });
  const agent = await startAgent({
    REMORA_BASE_URL: platform.url,
    REMORA_TOKEN: 'canary-token',
    REMORA_SPRITE: 'dev-1',
    ...env,
  });
  await untilJudged(agent);
  return { platform, agent };
}

/** Echoes frames; it stands in front of a stand-in platform, whose other rows it passes on. */
async function openEcho(platformUrl: string): Promise<string> {
  const sockets = new WebSocketServer({ noServer: true });
  sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(data)));
  const server = createServer((request, response) => {
    fetch(platformUrl + request.url).then(
      async (answer) =>
        response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text()),
      () => response.destroy(),
    );
  });
  server.on('upgrade', (request, socket, head) => {
    sockets.handleUpgrade(request, socket, head, (made) => sockets.emit('connection', made));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const client of sockets.clients) client.terminate();
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it('a WebSocket passes, is refused at the socket that only reads, and ends with 1001 at a stop, with exit code 0', async () => {
  const platform = await openStandInPlatform({ connectors });
  const readonly = join(tempDir(), 'read.sock');
  const { agent } = await openAll(
    {},
    { REMORA_BASE_URL: await openEcho(platform.url), REMORA_READONLY_SOCKET: readonly },
  );
  await expect(openWebSocket(readonly, target)).rejects.toThrow('403');
  const caller = await openWebSocket(agent.socket, target);
  caller.socket.send('hello');
  expect((await caller.received(1)).toString()).toBe('hello');
  agent.child.kill('SIGTERM');
  expect(await caller.closed).toMatchObject({ code: 1001, reason: expect.stringContaining('shutting_down') });
  expect(await agent.ended).toBe(0);
});

it('says in /v1/ready and /v1/status that it is not told of changes of policies', async () => {
  const { platform, agent } = await openAll({ version: 'a' });
  await soon(() => expect(platform.watchers).toBe(1));
  platform.state.changes = 'refuse';
  platform.cutWatchers();
  const gateway = { state: 'degraded', reason: expect.stringContaining('no stream of policy changes (not now)') };
  for (const target of ['/v1/ready', '/v1/status']) {
    await soon(async () =>
      expect(await agent.get(target)).toMatchObject({ status: 200, json: { parts: { gateway } } }),
    );
  }
});

it('a POST in flight at a resume is outcome_unknown, once, and never sent twice', async () => {
  const { platform, agent } = await openAll({ onGateway: (request) => void request.resume() });
  const waiting = agent.ask({ method: 'POST', target, body: 'work' });
  await soon(() => expect(platform.calls).toHaveLength(1));
  const poke = await agent.ask({ method: 'POST', target: '/v1/machine/resumed' });
  expect(poke.status).toBeLessThan(300);
  expect(await waiting).toMatchObject({ status: 502, json: { error: 'outcome_unknown' } });
  platform.state.onGateway = (_request, response) => response.end('ok');
  expect((await agent.ask({ target })).status).toBe(200);
  expect(platform.calls.map((call) => call.method)).toEqual(['POST', 'GET']);
});
