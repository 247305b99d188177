// The loopback listener as a caller without Unix sockets sees it: where a token may be carried, what it opens, and what is
// refused; and the commands that lead there.
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openOnce } from '../../support/at-end.ts';
import { startChild } from '../../support/child-lines.ts';
import { readGatewayLog } from '../../support/gateway-log.ts';
import { words } from '../../support/model-provider.ts';
import { type ModelStack, openModelStack } from '../../support/model-stack.ts';
import { openRaw } from '../../support/raw-http.ts';
import { runHere } from '../../support/run-here.ts';
import { remoraPath, runRemora } from '../../support/run-remora.ts';

const target = '/v1/gateway/openai/conn_openai/v1/models';

function call(stack: ModelStack, path: string, headers: Readonly<Record<string, string>> = {}) {
  return fetch(stack.origin + path, { headers });
}

describe('a token', () => {
  const stackOfAll = openOnce(() => openModelStack());

  it.each([
    ['Authorization', (token: string) => ({ authorization: `Bearer ${token}` })],
    ['x-api-key', (token: string) => ({ 'x-api-key': token })],
    ['x-goog-api-key', (token: string) => ({ 'x-goog-api-key': token })],
    ['api-key', (token: string) => ({ 'api-key': token })],
    ['x-api-key beside another credential', (token: string) => ({ authorization: 'Bearer other', 'x-api-key': token })],
  ])('is taken from %s and goes no further', async (_name, toHeaders) => {
    const stack = stackOfAll();
    const token = await stack.createToken('conn_openai');
    expect((await call(stack, target, toHeaders(token))).status).toBe(200);
    expect(JSON.stringify(stack.provider.calls)).not.toContain('remora_cap_');
  });

  it('is taken from ?key=, and every other byte of the query reaches the provider', async () => {
    const stack = stackOfAll();
    const before = stack.provider.calls.length;
    const token = await stack.createToken('conn_gemini');
    const answer = await call(stack, `/v1/gateway/gemini/conn_gemini/v1/models?a=%2F&key=${token}&b`);
    expect(answer.status).toBe(200);
    expect(stack.provider.calls.slice(before).map((sent) => sent.target)).toEqual(['/v1/models?a=%2F&b']);
    expect(stack.agent.log()).not.toContain(token);
    expect((await readGatewayLog(stack.agent.socket)).text).not.toContain(token);
  });

  it('opens its own connector only, and none of the rows that act', async () => {
    const stack = stackOfAll();
    const before = stack.provider.calls.length;
    const headers = { authorization: `Bearer ${await stack.createToken('conn_openai')}` };
    expect((await call(stack, '/v1/gateway/anthropic/conn_anthropic/v1/models', headers)).status).toBe(403);
    for (const path of ['/v1/status', '/v1/gateway/list', '/v1/gateway/tokens', '/v1/gateway/log']) {
      expect((await call(stack, path, headers)).status).toBe(403);
    }
    expect(stack.provider.calls).toHaveLength(before);
  });

  it('for all connectors opens what tells about them as well, and nothing that makes or shows tokens', async () => {
    const stack = stackOfAll();
    const headers = { authorization: `Bearer ${await stack.createToken()}` };
    for (const path of ['/v1/gateway/list', '/v1/gateway/providers', '/v1/gateway/guide']) {
      expect((await call(stack, path, headers)).status, path).toBe(200);
    }
    for (const path of ['/v1/gateway/tokens', '/v1/gateway/log']) {
      expect((await call(stack, path, headers)).status, path).toBe(403);
    }
    const init = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: '{}' };
    expect((await fetch(`${stack.origin}/v1/gateway/tokens`, init)).status).toBe(403);
  });

  it('is needed, and must be good', async () => {
    const stack = await openModelStack();
    expect((await call(stack, target)).status).toBe(401);
    const refused = await call(stack, target, { authorization: `Bearer remora_cap_${'A'.repeat(43)}` });
    expect(refused.status).toBe(401);
    expect(refused.headers.get('remora-error')).toBe('unauthorized');
    const token = await stack.createToken();
    const { tokens } = (await stack.agent.get('/v1/gateway/tokens')).json as { tokens: { id: string }[] };
    const revoked = await stack.agent.ask({ method: 'DELETE', target: `/v1/gateway/tokens/${tokens[0]?.id}` });
    expect(revoked.status).toBe(204);
    expect((await call(stack, target, { 'x-api-key': token })).status).toBe(401);
    expect(stack.provider.calls).toHaveLength(0);
  });

  it('that is missing, wrong or of another connector leaves a record, but never so many that others are pushed out', async () => {
    const stack = await openModelStack();
    const token = await stack.createToken('conn_anthropic');
    await call(stack, `${target}?key=sk-mine`);
    await call(stack, target, { authorization: `Bearer ${token}` });
    for (let index = 0; index < 60; index += 1) await call(stack, target);
    const { records } = await readGatewayLog(stack.agent.socket, '?limit=1000');
    expect(records.slice(0, 2)).toMatchObject([
      { decision: 'reject', code: 'unauthorized', status: 401, method: 'GET', path: target },
      { decision: 'reject', code: 'forbidden', status: 403 },
    ]);
    expect(records.length).toBeLessThan(30);
    const counted = /calls_total\{provider="",connector="",decision="reject",status="401",code="unauthorized"\} 61$/m;
    expect((await stack.agent.get('/metrics')).text).toMatch(counted);
  });

  it('that is wrong is refused each time and counted, and never keeps a good one from being served', async () => {
    const stack = await openModelStack();
    const wrong = () =>
      call(stack, target, { authorization: `Bearer remora_cap_${randomBytes(32).toString('base64url')}` });
    const statuses: number[] = [];
    for (let round = 0; round < 10; round += 1) {
      const answers = await Promise.all(Array.from({ length: 30 }, wrong));
      statuses.push(...answers.map(({ status }) => status));
    }
    expect(new Set(statuses)).toEqual(new Set([401]));
    const counted = /calls_total\{provider="",connector="",decision="reject",status="401",code="unauthorized"\} 300$/m;
    expect((await stack.agent.get('/metrics')).text).toMatch(counted);
    const headers = { authorization: `Bearer ${await stack.createToken('conn_openai')}` };
    expect((await call(stack, target, headers)).status).toBe(200);
  });

  it('does not help a page that reached the listener under another name', async () => {
    const stack = stackOfAll();
    const before = stack.provider.calls.length;
    const token = await stack.createToken();
    const port = Number(new URL(stack.origin).port);
    const ask = (host: string) =>
      openRaw(
        port,
        `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`,
      ).ended;
    for (const host of ['evil.test', `127.0.0.1.evil.test:${port}`, '127.999.1.1', `127.1:${port}`, '']) {
      expect(await ask(host)).toMatch(/^HTTP\/1.1 403 .*loopback/s);
    }
    expect(stack.provider.calls).toHaveLength(before);
    for (const host of [`127.0.0.1:${port}`, 'localhost', '[::1]:1'])
      expect(await ask(host)).toMatch(/^HTTP\/1.1 200 /);
  });
});

describe('remora', () => {
  /** Serves the tests that count nothing. */
  const stackOfCommands = openOnce(() => openModelStack());

  it('env prints what an SDK reads, with eval, for one connector and a time', async () => {
    const stack = await openModelStack();
    const program = [
      "import OpenAI from 'openai'",
      "const stream = await new OpenAI().chat.completions.create({ model: 'm', stream: true, messages: [{ role: 'user', content: 'a' }] })",
      "let text = ''",
      "for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''",
      'console.log(text)',
    ].join('; ');
    const script = `eval "$("$0" ${remoraPath} env --connector conn_openai --expire 10m)" && exec "$0" --input-type=module -e "$1"`;
    const child = startChild('sh', ['-c', script, process.execPath, program], { REMORA_SOCKET: stack.agent.socket });
    expect(await child.line(/./)).toBe(words.join(''));
    const { tokens } = (await stack.agent.get('/v1/gateway/tokens')).json as { tokens: { expires_at: string }[] };
    expect(tokens).toMatchObject([{ connector_id: 'conn_openai' }]);
    const left_ms = Date.parse(tokens[0]?.expires_at ?? '') - Date.now();
    expect(left_ms).toBeGreaterThan(8 * 60_000);
    expect(left_ms).toBeLessThanOrEqual(10 * 60_000);
  });

  it('env names the variables of other SDKs, and says what is missing', async () => {
    const stack = stackOfCommands();
    const env = { REMORA_SOCKET: stack.agent.socket };
    const anthropic = await runHere(['env', '--connector', 'conn_anthropic'], env);
    expect(anthropic.out).toMatch(
      /^export ANTHROPIC_BASE_URL='http:\/\/127\.0\.0\.1:\d+\/v1\/gateway\/anthropic\/conn_anthropic'\nexport ANTHROPIC_API_KEY='remora_cap_[\w-]{43}'$/,
    );
    expect(await runHere(['env'], env)).toMatchObject({ code: 2, out: '' });
    const unknown = await runHere(['env', '--connector', 'conn_9'], env);
    expect(unknown).toMatchObject({ code: 1, out: '' });
    expect(unknown.err).toContain('conn_9');
  });

  it('connectors shows addresses, and of one connector the lines to paste', async () => {
    const stack = stackOfCommands();
    const env = { REMORA_SOCKET: stack.agent.socket };
    const all = await runHere(['connectors'], env);
    expect(all.out).toContain(`${stack.origin}/v1/gateway/openai/conn_openai`);
    const one = await runRemora(['connectors', 'conn_openai'], { env });
    for (const text of ['curl --unix-socket', 'http.client', 'node:http', 'remora env --connector conn_openai']) {
      expect(one.stdout).toContain(text);
    }
  });

  it('log shows calls with why, and follows those that come', async () => {
    const stack = await openModelStack();
    const env = { REMORA_SOCKET: stack.agent.socket };
    await stack.agent.get(target);
    // The commands say it, too, where the log is not ready yet.
    await readGatewayLog(stack.agent.socket);
    const following = startChild(process.execPath, [remoraPath, 'log', '--follow'], env);
    expect(await following.line(/./)).toMatch(/allow +200 +GET openai\/conn_openai \/v1\/models/);
    await stack.agent.get('/v1/gateway/openai/conn_openai/v1/files');
    expect(await following.line(/./)).toMatch(/deny +403 .*code=endpoint_blocked +rule=\/v1\/files\*/);
    const json = await runRemora(['log', '--json', '--limit', '1'], { env });
    expect(JSON.parse(json.stdout)).toMatchObject({ seq: 2, decision: 'deny' });
  });

  it('explain shows the canonical form and what would be forwarded', async () => {
    const stack = stackOfCommands();
    const env = { REMORA_SOCKET: stack.agent.socket };
    const run = await runHere(['explain', 'GET', '/v1/gateway/openai/conn_openai/v1//%6dodels?a=1'], env);
    expect(run.code).toBe(0);
    expect(run.out).toMatch(/^canonical +\/v1\/models$/m);
    expect(run.out).toMatch(/^forwarded +GET \/v1\/\/%6dodels\?a=1$/m);
  });
});
