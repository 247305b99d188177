// The clients that applications use, through a real agent and a real platform, to a provider that speaks their formats. A stream
// goes on only after the client has seen what came before, so anything that buffers hangs.
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { Agent, fetch as undiciFetch } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startChild } from '../../support/child-lines.ts';
import { readGatewayLog } from '../../support/gateway-log.ts';
import { MODEL_KEY, words } from '../../support/model-provider.ts';
import { type ModelStack, openModelStack } from '../../support/model-stack.ts';

type Door = 'socket' | 'loopback';
const doors: readonly Door[] = ['socket', 'loopback'];
const messages = [{ role: 'user' as const, content: 'hello' }];

/** What both SDKs take: the address of a connector, a key, and for the socket a way to it. */
async function toOptions(stack: ModelStack, door: Door, connector: string, suffix = '') {
  const path = `/v1/gateway/${connector}/conn_${connector}${suffix}`;
  if (door === 'loopback') {
    const apiKey = await stack.createToken(`conn_${connector}`);
    return { baseURL: stack.origin + path, apiKey, maxRetries: 0 };
  }
  const dispatcher = new Agent({ connect: { socketPath: stack.agent.socket } });
  onTestFinished(() => dispatcher.destroy());
  const fetchOnSocket = (async (url: string, init: object) =>
    await undiciFetch(url, { ...init, dispatcher })) as unknown as typeof fetch;
  return { baseURL: `http://remora${path}`, apiKey: 'not-a-key', maxRetries: 0, fetch: fetchOnSocket };
}

/** Lets the provider send piece `n` only when `seen` has been told of `n` pieces. */
function inStep(stack: ModelStack): () => void {
  let count = 0;
  const waiting = new Map<number, () => void>();
  stack.provider.pace = (index) =>
    count >= index ? Promise.resolve() : new Promise((resolve) => waiting.set(index, resolve));
  return () => {
    count += 1;
    waiting.get(count)?.();
  };
}

async function lastUsage(stack: ModelStack) {
  const { records } = await readGatewayLog(stack.agent.socket);
  const { usage_known, input_tokens, output_tokens } = records.at(-1) ?? {};
  return { usage_known, input_tokens, output_tokens };
}

describe.each(doors)('the OpenAI SDK over the %s', (door) => {
  it('streams, answers in one piece, and reports the tokens that the log has as well', async () => {
    const stack = await openModelStack();
    const client = new OpenAI(await toOptions(stack, door, 'openai', '/v1'));
    const seen = inStep(stack);
    const request = { model: 'model-1', messages };
    const stream = await client.chat.completions.create({
      ...request,
      stream: true,
      stream_options: { include_usage: true },
    });
    const pieces: string[] = [];
    let usage: unknown;
    for await (const chunk of stream) {
      const text = chunk.choices[0]?.delta.content;
      if (text) {
        pieces.push(text);
        seen();
      }
      usage = chunk.usage ?? usage;
    }
    expect(pieces).toEqual(words);
    expect(usage).toMatchObject({ prompt_tokens: 11, completion_tokens: 4 });
    const known = { usage_known: true, input_tokens: 11, output_tokens: 4 };
    expect(await lastUsage(stack)).toEqual(known);
    const whole = await client.chat.completions.create(request);
    expect(whole.choices[0]?.message.content).toBe(words.join(''));
    expect(await lastUsage(stack)).toEqual(known);
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['model-1']);
    const arrived = stack.provider.calls.flatMap((call) => call.rawHeaders).join('\n');
    expect(arrived).toContain(`Bearer ${MODEL_KEY}`);
    expect(arrived).not.toMatch(/remora|not-a-key/i);
  });

  it("sees the provider's own 429, and ours as a permission error", async () => {
    const stack = await openModelStack();
    const client = new OpenAI(await toOptions(stack, door, 'openai', '/v1'));
    const busy = await client.chat.completions.create({ model: 'busy', messages }).catch((error: unknown) => error);
    expect(busy).toBeInstanceOf(OpenAI.RateLimitError);
    const headers = busy instanceof OpenAI.APIError ? busy.headers : undefined;
    expect([headers?.get('retry-after'), headers?.get('remora-error')]).toEqual(['7', null]);
    const refused = await client.files.list().catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(OpenAI.PermissionDeniedError);
    expect(refused instanceof OpenAI.APIError && refused.headers?.get('remora-error')).toBe('endpoint_blocked');
  });
});

describe.each(doors)('the Anthropic SDK over the %s', (door) => {
  it('streams and answers in one piece, with the tokens in the log', async () => {
    const stack = await openModelStack();
    const client = new Anthropic(await toOptions(stack, door, 'anthropic'));
    const seen = inStep(stack);
    const request = { model: 'model-1', max_tokens: 100, messages };
    const stream = client.messages.stream(request);
    stream.on('text', seen);
    const message = await stream.finalMessage();
    expect(message).toMatchObject({ content: [{ text: words.join('') }], usage: { output_tokens: 4 } });
    const known = { usage_known: true, input_tokens: 11, output_tokens: 4 };
    expect(await lastUsage(stack)).toEqual(known);
    expect(await client.messages.create(request)).toMatchObject({ content: [{ text: words.join('') }] });
    expect(await lastUsage(stack)).toEqual(known);
    const arrived = stack.provider.calls.flatMap((call) => call.rawHeaders).join('\n');
    expect(arrived).toContain(`x-api-key\n${MODEL_KEY}`);
    expect(arrived).toContain('anthropic-version');
    expect(arrived).not.toMatch(/remora|not-a-key/i);
  });

  it('whose stream is given up ends the call at the provider', async () => {
    const stack = await openModelStack();
    const client = new Anthropic(await toOptions(stack, door, 'anthropic'));
    stack.provider.pace = () => new Promise(() => undefined);
    const stream = client.messages.stream({ model: 'model-1', max_tokens: 100, messages });
    for await (const event of stream) if (event.type === 'content_block_delta') break;
    await expect.poll(async () => (await readGatewayLog(stack.agent.socket)).records.at(-1)?.ended).toBe('caller_gone');
  });
});

describe('curl over the socket', () => {
  it('shows each event as it comes', async () => {
    const stack = await openModelStack();
    const seen = inStep(stack);
    const url = 'http://remora/v1/gateway/openai/conn_openai/v1/chat/completions';
    const body = JSON.stringify({ model: 'model-1', messages, stream: true });
    const flags = ['-sS', '-N', '--unix-socket', stack.agent.socket, '-H', 'content-type: application/json'];
    const curl = startChild('curl', [...flags, '-d', body, url]);
    for (const word of words) {
      await curl.line(new RegExp(`"content":"${word}"`));
      seen();
    }
    await curl.line(/^data: \[DONE\]$/);
    expect(await curl.ended).toBe(0);
  });
});
