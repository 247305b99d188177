// What becomes of that which was begun with a capability token, when the token is revoked or expires: calls before and in the
// middle of their answer, WebSockets, and streams of the reading rows.
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { gatewayLog } from '../../../src/contract/local/gateway.ts';
import { type ModelStack, openModelStack } from '../../support/model-stack.ts';
import { openRaw } from '../../support/raw-http.ts';
import { soon } from '../../support/soon.ts';

const base = '/v1/gateway/openai/conn_openai/v1';

/** How a token ends. An expiry is in seconds. */
const ways = [
  ['is revoked', undefined, 'was revoked', (stack: ModelStack) => stack.revokeTokens()],
  ['expires', 3, 'has expired', () => Promise.resolve()],
] as const;

function toCall(model = 'model-1', token = 'none'): string {
  const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'a' }] });
  const head = `POST ${base}/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n`;
  return `${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

function beginStream(stack: ModelStack, token: string, model?: string) {
  return openRaw(Number(new URL(stack.origin).port), toCall(model, token));
}

/** On a busy machine the log may first say that it is not ready. */
async function lastRecord(stack: ModelStack) {
  const read = async () => gatewayLog.parse((await stack.agent.get('/v1/gateway/log?limit=1')).json);
  return (await soon(read)).records[0];
}

describe.each(ways)('when a token %s', (_way, expire, why, end) => {
  it('an answer that has begun breaks off, with the reason in the log', async () => {
    const stack = await openModelStack();
    stack.provider.pace = () => new Promise(() => undefined);
    const caller = beginStream(stack, await stack.createToken('conn_openai', expire));
    await caller.until(/data: /);
    await end(stack);
    expect(await caller.ended).not.toMatch(/0\r\n\r\n$/);
    await soon(async () =>
      expect(await lastRecord(stack)).toMatchObject({ ended: 'cut', status: 200, code: 'unauthorized' }),
    );
    expect(stack.agent.log()).toContain(`the capability token of this call ${why}`);
  });

  it('a call that waits for its answer is a 401', async () => {
    const stack = await openModelStack();
    const caller = beginStream(stack, await stack.createToken('conn_openai', expire), 'silent');
    await soon(() => expect(stack.provider.calls).toHaveLength(1));
    await end(stack);
    const answer = await caller.until(/\}\n$/);
    expect(answer).toMatch(/^HTTP\/1.1 401 .*remora-error: unauthorized\r\n/s);
    expect(answer).toContain(why);
    expect(await lastRecord(stack)).toMatchObject({ status: 401, code: 'unauthorized' });
  });

  it('a WebSocket is closed with 1008 and the reason', async () => {
    const stack = await openModelStack();
    const token = await stack.createToken(undefined, expire);
    const url = `${stack.origin.replace('http', 'ws')}${base}/realtime`;
    const socket = new WebSocket(url, ['realtime', `openai-insecure-api-key.${token}`]);
    onTestFinished(() => socket.terminate());
    await new Promise((resolve) => socket.once('message', resolve));
    const closed = new Promise((resolve) =>
      socket.once('close', (code, reason) => resolve({ code, reason: String(reason) })),
    );
    await end(stack);
    expect(await closed).toEqual({ code: 1008, reason: `unauthorized: the capability token of this call ${why}` });
  });

  it('a stream of events ends with the reason as its last line', async () => {
    const stack = await openModelStack();
    const token = await stack.createToken(undefined, expire);
    const request = `GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    const caller = openRaw(Number(new URL(stack.origin).port), request);
    await caller.until(/hello/);
    await end(stack);
    await caller.until(new RegExp(`"error":"unauthorized","message":"the capability token of this call ${why}"`));
  });
});

describe('when one of two tokens is revoked', () => {
  it('what was begun with the other, and on the socket, goes on', async () => {
    const stack = await openModelStack();
    stack.provider.pace = () => new Promise(() => undefined);
    const [revoked, kept] = [await stack.createToken('conn_openai'), await stack.createToken()];
    const [ends, ...goOn] = [
      beginStream(stack, revoked),
      beginStream(stack, kept),
      openRaw(stack.agent.socket, toCall()),
    ];
    for (const caller of [ends, ...goOn]) await caller.until(/data: /);
    await stack.revokeTokens('conn_openai');
    await ends.ended;
    expect((await stack.agent.get(`${base}/models`)).status).toBe(200);
    expect(goOn.map(({ socket }) => socket.destroyed)).toEqual([false, false]);
  });
});
