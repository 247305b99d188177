// How many tokens a model says it has used, read from the beginning and the end of its answer: from JSON, or from the events that
// carry it (OpenAI and its likes in the last chunk, Anthropic in `message_start` and `message_delta`). Pure.
import { createStreamEnds } from './stream-ends.ts';

export interface TokenUsage {
  /** Null when the provider did not say. */
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
}

export interface UsageReader {
  push(chunk: Uint8Array): void;
  /** Undefined when no usage was found. */
  read(): TokenUsage | undefined;
}

/** `message_start` is the first event, and a small one. */
const HEAD_BYTES = 4 * 1024;
const TAIL_BYTES = 16 * 1024;
const inputNames = ['input_tokens', 'prompt_tokens', 'promptTokenCount'] as const;
const outputNames = ['output_tokens', 'completion_tokens', 'candidatesTokenCount'] as const;
const KEY = /"(?:usage|usageMetadata)"\s*:\s*(?=\{)/g;

/** `headers` flat, of the answer. Undefined for what is neither JSON nor events, and for what is compressed. */
export function createUsageReader(headers: readonly string[]): UsageReader | undefined {
  let type = '';
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = (headers[index] ?? '').toLowerCase();
    if (name === 'content-type') type = (headers[index + 1] ?? '').toLowerCase();
    else if (name === 'content-encoding' && headers[index + 1]?.toLowerCase() !== 'identity') return undefined;
  }
  const isEvents = type.startsWith('text/event-stream');
  if (!isEvents && !type.startsWith('application/json')) return undefined;
  const ends = createStreamEnds(HEAD_BYTES, TAIL_BYTES);
  return {
    push: ends.push,
    read() {
      const texts = ends.texts();
      if (!isEvents) return merge(usagesOfJson(texts));
      const found = texts.flatMap(usagesOfEvents);
      // Of a stream that broke off: what is said at its beginning is not what it has used.
      return found.every(({ isOpening }) => isOpening) ? undefined : merge(found.map(({ usage }) => usage));
    },
  };
}

function usagesOfJson(texts: readonly string[]): unknown[] {
  const [text = '', end] = texts;
  return end === undefined ? usagesOfValue(parse(text)) : usagesInText(end).slice(-1);
}

function usagesOfEvents(text: string): { readonly usage: unknown; readonly isOpening: boolean }[] {
  return text
    .split('\n')
    .filter((line) => line.includes('"usage'))
    .flatMap((line) => {
      const value = parse(line.replace(/^data:/, ''));
      const usages = value === undefined ? usagesInText(line) : usagesOfValue(value);
      const isOpening = fieldOf(value, 'type') === 'message_start';
      return usages.map((usage) => ({ usage, isOpening }));
    });
}

/** At the top, in the message that an event begins, or in the response that an event completes. */
function usagesOfValue(value: unknown): unknown[] {
  const places = [value, fieldOf(value, 'message'), fieldOf(value, 'response')];
  return places.flatMap((place) => [fieldOf(place, 'usage'), fieldOf(place, 'usageMetadata')]).filter(isUsage);
}

/** In a piece of JSON whose beginning is missing. Inside a string the quotes of the key would be escaped. */
function usagesInText(text: string): unknown[] {
  return [...text.matchAll(KEY)].map((match) => parse(objectAt(text, match.index + match[0].length))).filter(isUsage);
}

function objectAt(text: string, begin: number): string {
  let depth = 0;
  for (let index = begin; index < text.length; index += 1) {
    if (text[index] === '{') depth += 1;
    else if (text[index] === '}') depth -= 1;
    if (depth === 0) return text.slice(begin, index + 1);
  }
  return '';
}

/** What is said later counts, because the numbers of a stream are running totals. */
function merge(found: readonly unknown[]): TokenUsage | undefined {
  if (found.length === 0) return undefined;
  const last = (names: readonly string[]) =>
    found.reduce<number | null>((before, usage) => countOf(usage, names) ?? before, null);
  return { input_tokens: last(inputNames), output_tokens: last(outputNames) };
}

function isUsage(value: unknown): boolean {
  return countOf(value, inputNames) !== undefined || countOf(value, outputNames) !== undefined;
}

function countOf(usage: unknown, names: readonly string[]): number | undefined {
  for (const name of names) {
    const value = fieldOf(usage, name);
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  }
  return undefined;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
