// What becomes of that which was begun with a capability token, when the token is revoked or expires: calls before and in the
// middle of their answer, WebSockets, and streams of the reading rows.
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { eventually } from '../../support/eventually.ts';
import { readGatewayLog } from '../../support/gateway-log.ts';
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

async function lastRecord(stack: ModelStack) {
  return (await readGatewayLog(stack.agent.socket, '?limit=1')).records[0];
}

/**
 * Begins something with a token of this life; once more with one that lives longer where a slow machine let it expire before: `begin` then resolves
 * with undefined.
 */
async function beginWith<T>(
  stack: ModelStack,
  expire: number | undefined,
  begin: (token: string) => Promise<T | undefined>,
  connector?: string,
): Promise<T> {
  for (let times = 1; times < 5; times += 1) {
    const begun = await begin(await stack.createToken(connector, expire && expire * times));
    if (begun !== undefined) return begun;
  }
  throw new Error('each of the tokens ended before it was used');
}

describe.each(ways)('when a token %s', (_way, expire, why, end) => {
  it('an answer that has begun breaks off, with the reason in the log', async () => {
    const stack = await openModelStack();
    stack.provider.pace = () => new Promise(() => undefined);
    const begin = async (token: string) => {
      const begun = beginStream(stack, token);
      return (await begun.until(/data: |"unauthorized"/)).includes('data: ') ? begun : undefined;
    };
    const caller = await beginWith(stack, expire, begin, 'conn_openai');
    await end(stack);
    expect(await caller.ended).not.toMatch(/0\r\n\r\n$/);
    await soon(async () =>
      expect(await lastRecord(stack)).toMatchObject({ ended: 'cut', status: 200, code: 'unauthorized' }),
    );
    await soon(() => expect(stack.agent.log()).toContain(`the capability token of this call ${why}`));
  });

  it('a call that waits for its answer is a 401', async () => {
    const stack = await openModelStack();
    const begin = async (token: string) => {
      const begun = beginStream(stack, token, 'silent');
      await eventually(() => stack.provider.calls.length === 1 || begun.text !== '');
      return stack.provider.calls.length === 1 ? begun : undefined;
    };
    const caller = await beginWith(stack, expire, begin, 'conn_openai');
    await end(stack);
    const answer = await caller.until(/\}\n$/);
    expect(answer).toMatch(/^HTTP\/1.1 401 .*remora-error: unauthorized\r\n/s);
    expect(answer).toContain(why);
    expect(await lastRecord(stack)).toMatchObject({ status: 401, code: 'unauthorized' });
  });

  it('a WebSocket is closed with 1008 and the reason', async () => {
    const stack = await openModelStack();
    const url = `${stack.origin.replace('http', 'ws')}${base}/realtime`;
    const begin = async (token: string) => {
      const socket = new WebSocket(url, ['realtime', `openai-insecure-api-key.${token}`]);
      onTestFinished(() => socket.terminate());
      const closed = new Promise((resolve) =>
        socket.once('close', (code, reason) => resolve({ code, reason: String(reason) })),
      );
      const isOpen = await new Promise((resolve) =>
        socket.once('message', () => resolve(true)).once('error', () => resolve(false)),
      );
      return isOpen ? { closed } : undefined;
    };
    const { closed } = await beginWith(stack, expire, begin);
    await end(stack);
    expect(await closed).toEqual({ code: 1008, reason: `unauthorized: the capability token of this call ${why}` });
  });

  it('a stream of events ends with the reason as its last line', async () => {
    const stack = await openModelStack();
    const begin = async (token: string) => {
      const request = `GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`;
      const begun = openRaw(Number(new URL(stack.origin).port), request);
      return (await begun.until(/hello|"unauthorized"/)).includes('hello') ? begun : undefined;
    };
    const caller = await beginWith(stack, expire, begin);
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
