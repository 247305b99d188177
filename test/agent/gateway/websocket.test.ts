// WebSockets from a process through agent and platform to a provider, with a real client and a real server.
import { describe, expect, it, onTestFinished } from 'vitest';
import { openSampleProvider } from '../../../src/cli/dev/sample-provider.ts';
import { Secret } from '../../../src/core/secret.ts';
import { startChild } from '../../support/child-lines.ts';
import { openGatewayAgent } from '../../support/gateway-agent.ts';
import { readGatewayLog } from '../../support/gateway-log.ts';
import { openTestPlatform } from '../../support/open-platform.ts';
import { openRaw } from '../../support/raw-http.ts';
import { soon } from '../../support/soon.ts';
import { openWebSocket } from '../../support/websocket-caller.ts';

const target = '/v1/gateway/sample/conn_1/ws';
const open = { allow_all: true, blocked_endpoints: ['/v1/admin*'] };

async function openAll(websocketIdle_ms = 60_000) {
  const provider = await openSampleProvider({ port: 0 });
  onTestFinished(() => provider[Symbol.asyncDispose]());
  const platform = await openTestPlatform({
    catalogue: [
      {
        provider: 'sample',
        display_name: 'Sample',
        description: 'of the test',
        address: { type: 'fixed', url: provider.url },
        injection: { in: 'header', name: 'authorization', prefix: 'Bearer ' },
        allow_http: true,
        sample_path: '/',
      },
    ],
  });
  const { admin } = platform;
  const names = { organization: 'acme', sprite: 'dev-1' };
  await admin.createSprite({ organization: 'acme', name: 'dev-1' });
  await admin.createConnector({
    organization: 'acme',
    provider: 'sample',
    id: 'conn_1',
    api_key: new Secret('canary-key'),
    access_policy: open,
  });
  const agent = await openGatewayAgent(platform.url, { token: await admin.createToken(names), websocketIdle_ms });
  const setPolicy = async (access_policy: unknown) => {
    const answer = await platform.call({
      method: 'PUT',
      path: '/v1/oauth/connections/conn_1',
      body: { access_policy },
    });
    expect(answer.status).toBe(200);
  };
  return { agent, platform, setPolicy };
}

async function lastRecord(path: string) {
  return (await readGatewayLog(path, '?limit=1')).records[0];
}

describe('a WebSocket', () => {
  it('carries messages both ways, small, empty, large and compressed, and ends with its own code', async () => {
    const { agent } = await openAll();
    const caller = await openWebSocket(agent.path, target);
    const sent = ['hello', '', 'x'.repeat(126), Buffer.alloc(900_000, 1), 'last'];
    for (const data of sent) caller.socket.send(data);
    caller.socket.ping();
    await new Promise((resolve) => caller.socket.once('pong', resolve));
    const received = await caller.received(sent.length);
    for (const [index, data] of sent.entries())
      expect(Buffer.from(data).equals(received[index] ?? Buffer.of())).toBe(true);
    caller.socket.close(4321, 'done');
    expect(await caller.closed).toEqual({ code: 4321, reason: 'done' });
    await soon(() => expect(agent.gateway.openStreams()).toBe(0));
    expect(await lastRecord(agent.path)).toMatchObject({
      method: 'GET',
      path: '/ws',
      decision: 'allow',
      status: 101,
      ended: 'complete',
      code: null,
      request_bytes: expect.toSatisfy((bytes: number) => bytes > 900_000 && bytes < 901_000),
      response_bytes: expect.toSatisfy((bytes: number) => bytes > 900_000 && bytes < 901_000),
    });
  });

  it('to a path that the policy blocks gets 403 and reaches nobody', async () => {
    const { agent, platform } = await openAll();
    await expect(openWebSocket(agent.path, '/v1/gateway/sample/conn_1/v1/admin/live')).rejects.toThrow('403');
    expect(await lastRecord(agent.path)).toMatchObject({ decision: 'deny', code: 'endpoint_blocked', status: 403 });
    expect(platform.log.some((entry) => entry.message === 'gateway call')).toBe(false);
  });

  it('that the provider refuses gets what the provider said', async () => {
    const { agent } = await openAll();
    const refused = openRaw(
      agent.path,
      'GET /v1/gateway/sample/conn_1/other HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    const text = await refused.ended;
    expect(text).toMatch(/^HTTP\/1.1 404 Not Found\r\n/);
    expect(text).not.toContain('remora-error');
  });

  it('answers curl with 101', async () => {
    const { agent } = await openAll();
    const words = ['-sSv', '--http1.1', '--unix-socket', agent.path];
    const headers = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'];
    headers.push('Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==');
    for (const header of headers) words.push('-H', header);
    // It prints an answer that does not end only where it tells what it does.
    const curl = startChild('sh', ['-c', 'exec curl "$@" 2>&1', 'curl', ...words, `http://remora${target}`]);
    expect(await curl.line(/^< HTTP/)).toMatch(/^< HTTP\/1.1 101 Switching Protocols\r?$/);
    await curl.line(/^< .*: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r?$/);
  });

  it('is closed with 1008 and the reason when the policy changes', async () => {
    const { agent, setPolicy } = await openAll();
    const caller = await openWebSocket(agent.path, target);
    caller.socket.send('hello');
    await caller.received(1);
    const started_ms = performance.now();
    await setPolicy({ allow_all: true, blocked_endpoints: ['/ws'] });
    expect(await caller.closed).toEqual({ code: 1008, reason: 'endpoint_blocked: endpoint is blocked by policy' });
    expect(performance.now() - started_ms).toBeLessThan(20_000);
    await soon(() => expect(agent.gateway.openStreams()).toBe(0));
    await expect(openWebSocket(agent.path, target)).rejects.toThrow('403');
  });

  it('is closed with 1001 when the machine was resumed', async () => {
    const { agent } = await openAll();
    const caller = await openWebSocket(agent.path, target);
    await agent.upstream.replace();
    await agent.gateway.recover();
    expect(await caller.closed).toMatchObject({ code: 1001, reason: expect.stringContaining('resuming') });
    await soon(async () => {
      expect(await lastRecord(agent.path)).toMatchObject({ status: 101, ended: 'cut', code: 'resuming' });
    });
    const again = await openWebSocket(agent.path, target);
    again.socket.send('back');
    await again.received(1);
  });

  it.each(['agent', 'platform'] as const)(
    'is closed with 1001 when the %s stops, which does not wait for long',
    async (who) => {
      const { agent, platform } = await openAll();
      const caller = await openWebSocket(agent.path, target);
      const started_ms = performance.now();
      const stopped = who === 'agent' ? agent.edge.drain(40_000) : platform[Symbol.asyncDispose]();
      expect(await caller.closed).toMatchObject({ code: 1001 });
      await stopped;
      expect(performance.now() - started_ms).toBeLessThan(20_000);
    },
  );

  it('that says nothing is closed with 1001', async () => {
    const { agent } = await openAll(300);
    const caller = await openWebSocket(agent.path, target);
    expect(await caller.closed).toMatchObject({ code: 1001, reason: expect.stringContaining('timeout') });
  });

  it('whose caller is gone leaves nothing open', async () => {
    const { agent, platform } = await openAll();
    const caller = await openWebSocket(agent.path, target);
    caller.socket.terminate();
    await soon(() => expect(agent.gateway.openStreams()).toBe(0));
    await soon(() => {
      expect(platform.log.find((entry) => entry.message === 'gateway call')).toMatchObject({
        status: 101,
        ended: 'caller_gone',
      });
    });
    expect(await lastRecord(agent.path)).toMatchObject({ ended: 'caller_gone', status: 101 });
  });
});
