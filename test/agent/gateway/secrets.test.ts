// Secrets in the real daemon: those of callers, of the agent and of the platform show up in no log, answer, metric, event or file
// of the agent, whichever way a call ends.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { MODEL_KEY } from '../../support/model-provider.ts';
import { openModelStack } from '../../support/model-stack.ts';
import { openRaw } from '../../support/raw-http.ts';

const OWN = 'sk-canary-of-the-caller';
const base = '/v1/gateway/openai/conn_openai/v1';
const messages = [{ role: 'user', content: 'sk-canary-in-a-body' }];

/** Every file below a directory, sockets left out. */
function filesOf(dir: string): string {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(dir, name))
    .filter((path) => statSync(path).isFile() && !path.endsWith('/token'))
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n');
}

it('no secret of a call is written down anywhere', async () => {
  const stack = await openModelStack();
  const spriteToken = readFileSync(join(stack.agent.dir, 'token'), 'utf8');
  const token = await stack.createToken();
  const events = openRaw(stack.agent.socket, 'GET /v1/events?since=0 HTTP/1.1\r\nHost: a\r\n\r\n');
  const headers = { authorization: `Bearer ${token}`, cookie: `a=${OWN}`, 'x-api-key': OWN, 'x-odd': OWN };
  const ask = async (target: string, more: RequestInit = {}) =>
    await fetch(stack.origin + target, { headers, ...more }).then(
      async (answer) => `${answer.status} ${JSON.stringify([...answer.headers])} ${await answer.text()}`,
      (error: unknown) => String(error),
    );
  const post = (model: string) => ({ method: 'POST', body: JSON.stringify({ model, messages }) });
  const answers = [
    await ask(`${base}/models?key=${token}&own=${OWN}`),
    await ask(`${base}/chat/completions`, post('model-1')),
    await ask(`${base}/chat/completions`, post('busy')),
    await ask(`${base}/files/${OWN.length}?own=${OWN}`),
    await ask(`${base}/%zz?own=${OWN}`),
    await ask(`/v1/gateway/openai/nobody/x?key=${OWN}`),
    await ask(`/v1/status?own=${OWN}`),
    await ask(`${base}/models`, { headers: { authorization: `Bearer ${OWN}` } }),
    await ask(`${base}/chat/completions`, { ...post('silent'), signal: AbortSignal.timeout(200) }),
  ];
  const socket = new WebSocket(`${stack.origin.replace('http', 'ws')}${base}/realtime?key=${token}`, [
    'realtime',
    `x.${OWN}`,
  ]);
  onTestFinished(() => socket.terminate());
  await new Promise((resolve) => socket.once('message', resolve));
  await stack.revokeTokens();
  await new Promise((resolve) => socket.once('close', resolve));
  for (const target of [
    '/v1/status',
    '/v1/ready',
    '/metrics',
    '/v1/gateway/list',
    '/v1/gateway/log',
    '/v1/gateway/tokens',
  ])
    answers.push((await stack.agent.get(target)).text);
  await events.until(/gateway_call_ended/);
  stack.agent.child.kill('SIGTERM');
  expect(await stack.agent.ended).toBe(0);
  const written = [...answers, events.text, stack.agent.log(), filesOf(stack.agent.dir)].join('\n');
  // What proves that something was written at all.
  for (const sign of ['conn_openai', 'endpoint_blocked', 'unknown_connector', 'gateway_call_ended'])
    expect(written).toContain(sign);
  for (const secret of [OWN, 'sk-canary-in-a-body', MODEL_KEY, spriteToken.trim(), token])
    expect(written).not.toContain(secret);
});
