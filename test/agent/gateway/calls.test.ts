import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { auditSchema } from '../../../src/agent/gateway/gateway-schema.ts';
import { RemoraError } from '../../../src/core/remora-error.ts';
import { openDatabase } from '../../../src/sqlite/open.ts';
import { ask } from '../../support/ask.ts';
import { openGatewayAgent, SPRITE_TOKEN } from '../../support/gateway-agent.ts';
import { readGatewayLog } from '../../support/gateway-log.ts';
import { openRaw } from '../../support/raw-http.ts';
import { soon } from '../../support/soon.ts';
import { openStandInPlatform } from '../../support/stand-in-platform.ts';

const policy = { allow_all: true, allowed_endpoints: ['/v1/*'], blocked_endpoints: ['/v1/admin*'] };
const connectors = [{ id: 'conn_1', provider: 'openai', access_policy: policy }];
const target = '/v1/gateway/openai/conn_1/v1/x';

describe('a call', () => {
  it('carries the credential and the identity of the agent, and nothing of the caller that looks like one', async () => {
    const platform = await openStandInPlatform({ connectors });
    const agent = await openGatewayAgent(platform.url);
    const headers = {
      Authorization: 'Bearer mine',
      'X-Api-Key': 'mine',
      'remora-generation': 'forged',
      'X-Keep': 'yes',
    };
    await ask(agent.path, { target, headers });
    const sent = platform.calls[0]?.rawHeaders.join('\n') ?? '';
    expect(sent).toContain(
      `authorization\nBearer ${SPRITE_TOKEN}\nremora-generation\n1\nremora-incarnation\n${'ab'.repeat(16)}`,
    );
    expect(sent).toContain('X-Keep\nyes');
    expect(sent).not.toMatch(/mine|forged/);
  });

  it('goes under the base path of the platform', async () => {
    const platform = await openStandInPlatform({ connectors });
    const agent = await openGatewayAgent(`${platform.url}/`);
    await ask(agent.path, { target: `${target}//y;z?q=%zz` });
    expect(platform.calls[0]?.target).toBe(`${target}//y;z?q=%zz`);
  });

  it("brings a provider's 429 back untouched, and our own with a marker", async () => {
    const platform = await openStandInPlatform({
      connectors,
      onGateway: (_request, response) => response.writeHead(429, { 'retry-after': '17' }).end('{"error":"rate"}'),
    });
    const agent = await openGatewayAgent(platform.url);
    const theirs = await ask(agent.path, { target });
    expect(theirs).toMatchObject({ status: 429, text: '{"error":"rate"}' });
    expect(theirs.headers).toMatchObject({ 'retry-after': '17' });
    expect(theirs.headers).not.toHaveProperty('remora-error');
    const ours = await ask(agent.path, { target: '/v1/gateway/openai/conn_1/v1/admin' });
    expect(ours).toMatchObject({
      status: 403,
      json: { error: 'endpoint_blocked', message: 'endpoint is blocked by policy' },
    });
    expect(ours.headers).toMatchObject({ 'remora-error': 'endpoint_blocked' });
  });

  it('passes redirects and refused content types through, unfollowed', async () => {
    const platform = await openStandInPlatform({
      connectors,
      onGateway: (_request, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/elsewhere' }).end(),
    });
    const agent = await openGatewayAgent(platform.url);
    const answer = await ask(agent.path, { target, headers: { Accept: 'text/event-stream' } });
    expect(answer).toMatchObject({ status: 302, headers: { location: 'http://127.0.0.1:1/elsewhere' } });
    expect(platform.calls[0]?.rawHeaders).toContain('text/event-stream');
  });

  it('gets the same 404 for an unknown id, another provider and an id of the language', async () => {
    const platform = await openStandInPlatform({ connectors });
    const agent = await openGatewayAgent(platform.url);
    const answers = await Promise.all(
      ['openai/conn_9', 'github/conn_1', 'openai/__proto__', 'openai/constructor'].map((name) =>
        ask(agent.path, { target: `/v1/gateway/${name}/v1/x` }),
      ),
    );
    for (const answer of answers) expect(answer).toMatchObject({ status: 404, json: { error: 'unknown_connector' } });
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
  });

  it.each(['before', 'after'])('that its caller drops %s the first byte ends at the platform', async (when) => {
    const closed = vi.fn();
    const platform = await openStandInPlatform({
      connectors,
      onGateway: (request, response) => {
        request.socket.once('close', closed);
        if (when === 'after') response.write('first');
      },
    });
    const agent = await openGatewayAgent(platform.url);
    const caller = openRaw(agent.path, `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`);
    if (when === 'after') await caller.until(/first/);
    else await soon(() => expect(platform.calls).toHaveLength(1));
    caller.socket.destroy();
    await soon(() => expect(closed).toHaveBeenCalled());
    await soon(() => expect(agent.gateway.openStreams()).toBe(0));
  });

  it('is not told to go on with its body when it is refused, and once when it is not', async () => {
    const platform = await openStandInPlatform({
      connectors,
      onGateway: (request, response) => void request.pipe(response),
    });
    const agent = await openGatewayAgent(platform.url);
    const head = (path: string) =>
      `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n`;
    const refused = openRaw(agent.path, head('/v1/gateway/openai/conn_1/v1/admin'));
    expect(await refused.until(/\}\n$/)).toMatch(/^HTTP\/1.1 403 /);
    const allowed = openRaw(agent.path, head(target));
    await allowed.until(/^HTTP\/1.1 100 Continue\r\n\r\n$/);
    allowed.socket.write('abc');
    expect(await allowed.until(/0\r\n\r\n$/)).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK\r\n.*abc/s);
  });

  it('with a body over the limit is refused', async () => {
    const platform = await openStandInPlatform({ connectors });
    const agent = await openGatewayAgent(platform.url, { bodyCap_bytes: 10 });
    const answer = await ask(agent.path, { method: 'POST', target, body: 'a'.repeat(11) });
    expect(answer).toMatchObject({ status: 413, json: { error: 'payload_too_large' } });
    expect(platform.calls).toHaveLength(0);
  });

  it('waits at the gate, and gets the error of the gate', async () => {
    const atGate = Promise.withResolvers<void>();
    const opened = Promise.withResolvers<void>();
    let gate = () => {
      atGate.resolve();
      return opened.promise;
    };
    const platform = await openStandInPlatform({ connectors });
    const agent = await openGatewayAgent(platform.url, { gate: () => gate() });
    const waiting = ask(agent.path, { target });
    await atGate.promise;
    await agent.gateway.recover();
    expect(platform.calls).toHaveLength(0);
    opened.resolve();
    expect((await waiting).status).toBe(200);
    gate = () => Promise.reject(new RemoraError('suspending', 'the machine is being suspended'));
    expect(await ask(agent.path, { target })).toMatchObject({ status: 503, json: { error: 'suspending' } });
  });

  it('to a platform that is gone is a 502', async () => {
    const platform = await openStandInPlatform({ connectors });
    const agent = await openGatewayAgent(platform.url);
    expect((await ask(agent.path, { target })).status).toBe(200);
    await platform.close();
    const answer = await ask(agent.path, { target });
    expect(answer).toMatchObject({ status: 502, json: { error: 'upstream_failed' } });
    expect(answer.headers).toMatchObject({ 'remora-error': 'upstream_failed' });
  });
});

describe('the credential', () => {
  it('is in no log, event, error, audit record or answer', async () => {
    const platform = await openStandInPlatform({
      connectors,
      onGateway: (request, response) => {
        if (request.url?.endsWith('break') === true) request.socket.destroy();
        else response.end('ok');
      },
    });
    const agent = await openGatewayAgent(platform.url);
    const seen: string[] = [];
    for (const path of ['v1/x', 'v1/break', 'v1/admin', 'v1/%2e%2e/x', `v1/x?key=${SPRITE_TOKEN}`]) {
      seen.push((await ask(agent.path, { target: `/v1/gateway/openai/conn_1/${path}` })).text);
    }
    seen.push((await ask(agent.path, { target: '/v1/gateway/list' })).text, (await readGatewayLog(agent.path)).text);
    seen.push((await ask(agent.path, { target: '/v1/oauth/connections' })).text);
    platform.state.mode = 'refuse';
    await agent.gateway.recover();
    await platform.close();
    seen.push((await ask(agent.path, { target })).text);
    // The broken call must have been logged, or this proves nothing.
    expect(agent.written()).toContain('upstream_failed');
    expect(seen.join('\n')).not.toContain(SPRITE_TOKEN);
    expect(agent.written()).not.toContain(SPRITE_TOKEN);
    const log = openDatabase(join(agent.dir, 'gateway-log.db'), { migrations: auditSchema }).db;
    const rows = log.prepare('SELECT * FROM gateway_log').all();
    log.close();
    expect(rows.length).toBeGreaterThan(4);
    expect(JSON.stringify([...rows, ...agent.db.prepare('SELECT * FROM gateway_policy').all()])).not.toContain(
      SPRITE_TOKEN,
    );
    expect(JSON.stringify(process.env)).not.toContain(SPRITE_TOKEN);
  });
});

describe('the upstream connection', () => {
  it('is not taken by a caller that pipelines a second request behind a refused one', async () => {
    const platform = await openStandInPlatform({ connectors });
    const agent = await openGatewayAgent(platform.url);
    const socket = connect(agent.path);
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    const one = (path: string) => `GET /v1/gateway/openai/conn_1${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
    socket.write(one('/v1/admin') + one('/v1/ok'));
    await soon(() => expect(text).toMatch(/HTTP\/1.1 403 .*HTTP\/1.1 200 OK.*ok/s));
    socket.destroy();
    expect(platform.calls.map((call) => call.target)).toEqual(['/v1/gateway/openai/conn_1/v1/ok']);
  });
});
