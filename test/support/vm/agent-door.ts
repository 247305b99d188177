// Calls from this machine to the socket of the agent in a guest.
import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentEventLine } from '../../../src/contract/local/events.ts';
import { eventually } from '../eventually.ts';

export interface AgentAnswer {
  readonly status: number;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the fields of answers are what the tests compare.
  readonly json: any;
}

export interface AskOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly limit_ms?: number;
}

export interface AgentDoor {
  readonly url: string;
  /** Asks once. Throws when there is no answer. */
  ask(path: string, options?: AskOptions): Promise<AgentAnswer>;
  /** Asks until it answers with 2xx. */
  get(path: string): Promise<AgentAnswer>;
  /** Every event that is kept after this one, in order, as soon as `isWhole` says so. */
  events(since: number, isWhole: (events: readonly AgentEventLine[]) => boolean): Promise<readonly AgentEventLine[]>;
}

/** A guest that has just been restored answers nothing for some seconds. */
const LIMIT_MS = 120_000;
const CALL_LIMIT_MS = 15_000;
const PAUSE_MS = 200;

export function openAgentDoor(port: number): AgentDoor {
  const url = `http://127.0.0.1:${port}`;
  const ask: AgentDoor['ask'] = async (path, { method = 'GET', body, limit_ms = LIMIT_MS } = {}) => {
    const answer = await fetch(url + path, {
      method,
      signal: AbortSignal.timeout(limit_ms),
      headers: { connection: 'close', ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const isJson = (answer.headers.get('content-type') ?? '').startsWith('application/json');
    return { status: answer.status, text, json: isJson ? JSON.parse(text) : undefined };
  };
  const get: AgentDoor['get'] = (path) =>
    eventually(async () => {
      const answer = await ask(path, { limit_ms: CALL_LIMIT_MS }).catch(() => undefined);
      if (answer !== undefined && answer.status >= 200 && answer.status < 300) return answer;
      await sleep(PAUSE_MS);
      return undefined;
    }, LIMIT_MS);
  const events: AgentDoor['events'] = (since, isWhole) =>
    eventually(async () => {
      const kept = await readKept(`${url}/v1/events?since=${since}`);
      if (isWhole(kept)) return kept;
      await sleep(PAUSE_MS);
      return undefined;
    }, LIMIT_MS);
  return { url, ask, get, events };
}

/** The stream begins with the number of its last event; what is kept comes up to that. */
async function readKept(url: string): Promise<AgentEventLine[]> {
  const end = new AbortController();
  const events: AgentEventLine[] = [];
  try {
    const answer = await fetch(url, { signal: AbortSignal.any([end.signal, AbortSignal.timeout(CALL_LIMIT_MS)]) });
    let rest = '';
    let last: number | undefined;
    for await (const bytes of answer.body ?? []) {
      const lines = (rest + Buffer.from(bytes).toString('utf8')).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines.filter((text) => text !== '').map((text) => JSON.parse(text))) {
        if (line.type === 'hello') last = line.seq;
        else if (line.type === 'gap') throw new Error(`events are missing: ${JSON.stringify(line)}`);
        else events.push(line);
      }
      if (last !== undefined && (events.at(-1)?.seq ?? 0) >= last) break;
      if (last !== undefined && url.endsWith(`=${last}`)) break;
    }
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('events are missing')) throw error;
    return [];
  } finally {
    end.abort();
  }
  return events;
}
