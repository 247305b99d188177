// WebSockets through the loopback listener with a capability token: as the SDK of OpenAI opens them, as a browser does, and by hand.
import { connect } from 'node:net';
import OpenAI from 'openai';
import { OpenAIRealtimeWebSocket } from 'openai/realtime/websocket';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ClientOptions, WebSocket as WsSocket } from 'ws';
import { MODEL_KEY } from '../../support/model-provider.ts';
import { type ModelStack, openModelStack } from '../../support/model-stack.ts';

const path = '/v1/gateway/openai/conn_openai/v1/realtime';

/** Rejects with the status when the handshake was refused. */
async function openOnLoopback(stack: ModelStack, protocols: string[], options: ClientOptions = {}, query = '') {
  const socket = new WsSocket(`${stack.origin.replace('http', 'ws')}${path}${query}`, protocols, options);
  onTestFinished(() => socket.terminate());
  const first = new Promise<string>((resolve) => socket.once('message', (text) => resolve(String(text))));
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  return { socket, first: await first };
}

/** What the provider got in the handshake. Its own key must be there, and nothing of the token. */
function lastHandshake(stack: ModelStack): readonly string[] {
  const { rawHeaders = [] } = stack.provider.calls.at(-1) ?? {};
  expect(rawHeaders).toContain(`Bearer ${MODEL_KEY}`);
  expect(JSON.stringify(stack.provider.calls)).not.toMatch(/remora|sk-mine/);
  return rawHeaders;
}

function subprotocolOf(rawHeaders: readonly string[]): string | undefined {
  return rawHeaders[rawHeaders.findIndex((name) => name.toLowerCase() === 'sec-websocket-protocol') + 1];
}

interface RealtimeClient {
  on(event: 'event', listener: (event: { readonly type: string }) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  send(event: { type: 'session.update'; session: { type: 'realtime' } }): void;
}

/** Resolves once the provider has greeted and answered. */
async function converse(client: RealtimeClient): Promise<void> {
  const heard = (wanted: string) =>
    new Promise<void>((resolve, reject) => {
      client.on('error', reject);
      client.on('event', ({ type }) => (type === wanted ? resolve() : undefined));
    });
  await heard('session.created');
  client.send({ type: 'session.update', session: { type: 'realtime' } });
  await heard('session.update.done');
}

describe('the realtime clients of the OpenAI SDK', () => {
  it('work as in a browser, with the token among the subprotocols', async () => {
    const stack = await openModelStack();
    const baseURL = `${stack.origin}/v1/gateway/openai/conn_openai/v1`;
    const client = new OpenAI({ baseURL, apiKey: await stack.createToken('conn_openai') });
    const onURL = (url: URL) => {
      // The SDK knows no address without TLS.
      url.protocol = 'ws:';
    };
    const realtime = new OpenAIRealtimeWebSocket({ model: 'model-1', onURL }, client);
    onTestFinished(() => realtime.socket.close());
    await converse(realtime);
    expect(realtime.socket.protocol).toBe('realtime');
    expect(stack.provider.calls[0]?.target).toBe('/v1/realtime?model=model-1');
    expect(subprotocolOf(lastHandshake(stack))).toBe('realtime');
    expect(stack.agent.log()).not.toMatch(/remora_cap_/);
  });

  it('work as in a server, with the token in Authorization', async () => {
    const stack = await openModelStack();
    const { hostname, port, origin } = new URL(stack.origin);
    const baseURL = `${origin}/v1/gateway/openai/conn_openai/v1`;
    const client = new OpenAI({ baseURL, apiKey: await stack.createToken() });
    const options = { createConnection: () => connect(Number(port), hostname) };
    const realtime = new OpenAIRealtimeWS({ model: 'model-1', options }, client);
    onTestFinished(() => realtime.socket.terminate());
    await converse(realtime);
    lastHandshake(stack);
  });
});

describe('a handshake on the loopback listener', () => {
  it.each([
    ['Authorization', (token: string) => [[], { headers: { authorization: `Bearer ${token}` } }, ''] as const],
    ['x-api-key', (token: string) => [[], { headers: { 'x-api-key': token } }, ''] as const],
    ['?key=', (token: string) => [[], {}, `?key=${token}`] as const],
    ['a bare subprotocol', (token: string) => [['realtime', token], {}, ''] as const],
    ['a subprotocol behind a marker', (token: string) => [['realtime', 'token', token], {}, ''] as const],
  ])('takes the token from %s and passes it on to nobody', async (_name, toParts) => {
    const stack = await openModelStack();
    const [protocols, options, query] = toParts(await stack.createToken('conn_openai'));
    const { socket, first } = await openOnLoopback(stack, [...protocols], options, query);
    expect(first).toContain('session.created');
    expect(socket.protocol).toBe(protocols.length > 0 ? 'realtime' : '');
    lastHandshake(stack);
  });

  it("keeps a key of the caller's own from the provider, also with a token in a header", async () => {
    const stack = await openModelStack();
    const options = { headers: { authorization: `Bearer ${await stack.createToken()}` } };
    await openOnLoopback(stack, ['realtime', 'openai-insecure-api-key.sk-mine', 'v2'], options);
    expect(subprotocolOf(lastHandshake(stack))).toBe('realtime, v2');
  });

  it('without a token, with a wrong one, and with one for another connector is refused and reaches nobody', async () => {
    const stack = await openModelStack();
    const other = await stack.createToken('conn_anthropic');
    const wrong = `remora_cap_${'A'.repeat(43)}`;
    await expect(openOnLoopback(stack, ['realtime'])).rejects.toThrow('401');
    await expect(openOnLoopback(stack, ['realtime', `openai-insecure-api-key.${wrong}`])).rejects.toThrow('401');
    await expect(openOnLoopback(stack, ['realtime', `openai-insecure-api-key.${other}`])).rejects.toThrow('403');
    await expect(openOnLoopback(stack, [], { headers: { authorization: `Bearer ${other}` } })).rejects.toThrow('403');
    expect(stack.provider.calls).toHaveLength(0);
  });
});
