import { describe, expect, it } from 'vitest';
import { createUsageReader } from '../../../src/core/gateway/token-usage.ts';
import { growthOf } from '../../support/growth.ts';
import { fill } from '../../support/hostile-text.ts';

const json = ['Content-Type', 'application/json; charset=utf-8'];
const events = ['content-type', 'text/event-stream'];

/** Reads `text` in pieces of `size` bytes. */
function read(headers: readonly string[], text: string, size = text.length) {
  const reader = createUsageReader(headers);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) reader?.push(bytes.subarray(at, at + size));
  return reader?.read();
}

const padding = (count: number) => 'é'.repeat(count);
const chunk = (fields: object) => `data: ${JSON.stringify({ choices: [{ delta: { content: 'hi' } }], ...fields })}\n\n`;

describe.each([1, 7, 1_000, 1_000_000])('in pieces of %i bytes', (size) => {
  it.each([
    ['JSON', json, '{"usage":{"prompt_tokens":9,"completion_tokens":12}}', 9, 12],
    ['JSON of Anthropic', json, '{"content":[],"usage":{"input_tokens":5,"output_tokens":3}}', 5, 3],
    ['JSON of embeddings', json, '{"data":[],"usage":{"prompt_tokens":8,"total_tokens":8}}', 8, null],
    ['JSON of Gemini', json, '{"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":2}}', 4, 2],
    [
      'JSON that is longer than what is kept',
      json,
      JSON.stringify({ data: padding(40_000), usage: { prompt_tokens: 1, completion_tokens: 2, details: { a: {} } } }),
      1,
      2,
    ],
    [
      'the last chunk of OpenAI',
      events,
      `${chunk({ usage: null }).repeat(400)}${chunk({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 99 } })}data: [DONE]\n\n`,
      7,
      99,
    ],
    [
      'the events of Anthropic',
      events,
      [
        'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":25,"output_tokens":1}}}\n\n',
        'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"text":"x"}}\n\n'.repeat(500),
        'event: message_delta\ndata: {"type":"message_delta","usage":{"output_tokens":15}}\n\n',
        'event: message_stop\ndata: {"type":"message_stop"}\n\n',
      ].join(''),
      25,
      15,
    ],
    [
      'a completed response that is longer than what is kept',
      events,
      `data: ${JSON.stringify({ response: { output: padding(30_000), usage: { input_tokens: 3, output_tokens: 4 } } })}\n\n`,
      3,
      4,
    ],
  ])('%s', (_name, headers, text, input_tokens, output_tokens) => {
    expect(read(headers, text, size)).toEqual({ input_tokens, output_tokens });
  });
});

describe('no usage is known', () => {
  it.each([
    ['of plain text', ['content-type', 'text/plain'], '{"usage":{"prompt_tokens":9}}'],
    ['of a compressed answer', [...json, 'content-encoding', 'gzip'], '{"usage":{"prompt_tokens":9}}'],
    ['without a type', [], '{"usage":{"prompt_tokens":9}}'],
    ['of an answer that breaks off', json, '{"usage":{"prompt_tokens":9'],
    ['of text that only quotes it', json, JSON.stringify({ text: `${padding(40_000)}{"usage":{"prompt_tokens":9}}` })],
    ['of something else with that name', json, '{"usage":{"disk":9},"a":{"usage":{"prompt_tokens":1}}}'],
    ['of numbers that are none', json, '{"usage":{"prompt_tokens":"9","completion_tokens":-1}}'],
    ['of nothing', json, ''],
    [
      'of events that break off after the first',
      events,
      'data: {"type":"message_start","message":{"usage":{"input_tokens":25,"output_tokens":1}}}\n\n',
    ],
  ])('%s', (_name, headers, text) => expect(read(headers, text)).toBeUndefined());
});

describe('an answer that is made to cost', () => {
  const kinds: readonly (readonly [string, (length: number) => string])[] = [
    ['keys within keys', (length) => fill('"usage":{', length, ' '.repeat(length / 3), '}'.repeat(length / 9))],
    ['keys and spaces', (length) => fill(' ', length, '"usage"')],
    ['keys with little space', (length) => fill('"usage" ', length)],
    ['lines', (length) => fill('"usage\n', length)],
    ['empty lines', (length) => fill('\n', length)],
    ['usages', (length) => fill('data: {"usage":{"input_tokens":1}}\n', length)],
    ['objects that do not end', (length) => fill('"usage":{"input_tokens":1,', length)],
    ['lists in lists', (length) => fill('[', length, '"usage"')],
  ];

  it.each(kinds)('costs at most 2.5 times as much when it is twice as long: %s', (_name, make) => {
    const work = (text: string) => [json, events].map((headers) => read(headers, `${fill('x', 4_096)}${text}`));
    expect(growthOf(work, make(8_000), make(16_000), 2.5)).toBeLessThanOrEqual(2.5);
  });

  it('is asked in few places, the last ones first', () => {
    const long = fill('x', 20_000);
    const good = '"usage":{"input_tokens":3}';
    expect(read(json, `${long}${good}${'"usage":{}'.repeat(7)}`)).toEqual({ input_tokens: 3, output_tokens: null });
    expect(read(json, `${long}${good}${'"usage":{}'.repeat(8)}`)).toBeUndefined();
    expect(read(json, `${long}"usage":{"a":${'{"a":'.repeat(8)}1${'}'.repeat(8)},"input_tokens":3}`)).toBeUndefined();
    expect(read(json, `${long}"usage"${fill(' ', 100)}:{"input_tokens":3}`)).toBeUndefined();
  });

  it('does not keep the last event from being read', () => {
    const text = `${fill('data: {"usage":{"input_tokens":1}}\n', 9_000)}data: {"usage":{"input_tokens":7}}\n`;
    expect(read(events, text)).toEqual({ input_tokens: 7, output_tokens: null });
  });
});
