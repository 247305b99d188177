// How many tokens a model says that it used, read from the beginning and the end of its answer: from JSON, or from the events
// that carry it (OpenAI and similar providers in the last chunk, Anthropic in `message_start` and `message_delta`). The work is
// bounded by counts and lengths, because an answer may be built to be costly. Pure.
import { createStreamEnds } from './stream-ends.ts';

export interface TokenUsage {
  /** Null when the provider did not state it. */
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
/** How many events are read at each end, and how many places of a text are tried. */
const EVENTS_MAX = 8;
const PLACES_MAX = 8;
/** The longest text that is parsed as JSON. The usage itself is a small object, and flat but for its details. */
const JSON_MAX = 16 * 1024;
const OBJECT_MAX = 4 * 1024;
const DEPTH_MAX = 8;
const KEY_BEGIN = '"usage';
/** The pattern is sticky. No server writes more space than this between a key and its value. */
const KEY = /"(?:usage|usageMetadata)"\s{0,8}:\s{0,8}(?=\{)/y;

/** `headers` are those of the answer, flat. Undefined for an answer that is neither JSON nor events, or is compressed. */
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
      // A stream that broke off has only its opening figures, which are not what it used.
      return found.every(({ isOpening }) => isOpening) ? undefined : merge(found.map(({ usage }) => usage));
    },
  };
}

function usagesOfJson([text = '', end]: readonly string[]): unknown[] {
  if (end === undefined && text.length <= JSON_MAX) return usagesOfValue(parse(text));
  return lastUsageInText(end ?? text);
}

function usagesOfEvents(text: string): { readonly usage: unknown; readonly isOpening: boolean }[] {
  return usageLines(text).flatMap((line) => {
    const value = line.length <= JSON_MAX ? parse(line.replace(/^data:/, '')) : undefined;
    const usages = value === undefined ? lastUsageInText(line) : usagesOfValue(value);
    const isOpening = fieldOf(value, 'type') === 'message_start';
    return usages.map((usage) => ({ usage, isOpening }));
  });
}

/** The first and the last lines that may hold a usage, in their order. */
function usageLines(text: string): string[] {
  const first: string[] = [];
  let begin = 0;
  while (first.length < EVENTS_MAX) {
    const at = text.indexOf(KEY_BEGIN, begin);
    if (at < 0) return first;
    const from = text.lastIndexOf('\n', at) + 1;
    const to = text.indexOf('\n', at);
    begin = to < 0 ? text.length : to;
    first.push(text.slice(from, begin));
  }
  const last: string[] = [];
  let end = text.length;
  while (last.length < EVENTS_MAX) {
    const at = text.lastIndexOf(KEY_BEGIN, end);
    if (at < begin) break;
    const from = text.lastIndexOf('\n', at) + 1;
    const to = text.indexOf('\n', at);
    last.unshift(text.slice(from, to < 0 ? text.length : to));
    end = from - 1;
  }
  return [...first, ...last];
}

/** Looks at the top of the value, in the message that an event begins, and in the response that an event completes. */
function usagesOfValue(value: unknown): unknown[] {
  const places = [value, fieldOf(value, 'message'), fieldOf(value, 'response')];
  return places.flatMap((place) => [fieldOf(place, 'usage'), fieldOf(place, 'usageMetadata')]).filter(isUsage);
}

/** The last usage in a piece of JSON whose beginning is missing. Inside a string the quotes of the key would be escaped. */
function lastUsageInText(text: string): unknown[] {
  let at = text.length;
  for (let place = 0; place < PLACES_MAX; place += 1) {
    at = at <= 0 ? -1 : text.lastIndexOf(KEY_BEGIN, at - 1);
    if (at < 0) return [];
    KEY.lastIndex = at;
    if (!KEY.test(text)) continue;
    const usage = parse(objectAt(text, KEY.lastIndex));
    if (isUsage(usage)) return [usage];
  }
  return [];
}

/** The text of the object; empty for one that is too long, too deep or unfinished. */
function objectAt(text: string, begin: number): string {
  const end = Math.min(text.length, begin + OBJECT_MAX);
  let depth = 0;
  for (let index = begin; index < end && depth <= DEPTH_MAX; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === 0x7b) depth += 1;
    else if (unit === 0x7d) depth -= 1;
    if (depth === 0) return text.slice(begin, index + 1);
  }
  return '';
}

/** Later figures count, because the numbers of a stream are running totals. */
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
