// Every event of the agent: numbered, kept in a ring, and handed to any number of readers. Numbers are reserved in
// blocks in the store, so that they never repeat or go back, also after a crash.
import type { Clock } from '../../core/clock.ts';
import { toDateTime } from '../../core/clock.ts';

export const RING_SIZE = 4_096;
const BLOCK = 1_024;

export interface AgentEvent {
  readonly seq: number;
  readonly time: string;
  readonly generation: number;
  readonly type: string;
  readonly [field: string]: unknown;
}

/** Keeps the highest number that may have been used. `reserve` must be durable before it returns. */
export interface SequenceStore {
  load(): number;
  reserve(upTo: number): void;
}

export interface EventHubOptions {
  readonly clock: Clock;
  readonly generation: () => number;
  readonly sequence: SequenceStore;
  readonly ringSize?: number;
  /** What the former image of this process had in its ring. */
  readonly kept?: readonly AgentEvent[] | undefined;
  /** Told of what a reader throws; it has been dropped. */
  readonly onReaderError?: (error: unknown) => void;
}

export interface EventReader {
  /** `json` is the event as one line of text, shared by all readers. One that throws gets nothing more. */
  readonly onEvent: (event: AgentEvent, json: string) => void;
}

export interface EventHub {
  /** The event gets its number and reaches every reader before this returns. Throws when `fields` are not JSON. */
  publish(type: string, fields?: Readonly<Record<string, unknown>>): AgentEvent;
  /**
   * Everything kept after `since`, then what comes, in order, with nothing lost or twice. Without `since` only what comes.
   * Returns the way to stop.
   */
  subscribe(reader: EventReader, since?: number): () => void;
  /** The last number used, and the oldest that is still kept (`seq + 1` when none is). */
  readonly seq: number;
  readonly oldest: number;
  readonly readers: number;
  /** Everything in the ring, oldest first. */
  readonly kept: readonly AgentEvent[];
}

interface Kept {
  readonly event: AgentEvent;
  readonly json: string;
}

export function createEventHub(options: EventHubOptions): EventHub {
  const ringSize = options.ringSize ?? RING_SIZE;
  const ring: Kept[] = (options.kept ?? []).map((event) => ({ event, json: JSON.stringify(event) }));
  /** Each reader with the last number it has been given. */
  const readers = new Map<EventReader, number>();
  let reserved = options.sequence.load();
  let seq = ring.at(-1)?.event.seq ?? reserved;
  let isDelivering = false;

  /**
   * Brings every reader up to date. A reader that publishes or subscribes while it is given an event ends up in the round
   * that is under way, so that each reader sees the numbers in order.
   */
  function deliver(): void {
    if (isDelivering) return;
    isDelivering = true;
    let done: number;
    do {
      done = seq;
      for (const reader of readers.keys()) catchUp(reader);
    } while (done !== seq);
    isDelivering = false;
  }

  function catchUp(reader: EventReader): void {
    for (const { event, json } of keptAfter(readers.get(reader) ?? seq)) {
      if (!readers.has(reader)) return;
      readers.set(reader, event.seq);
      try {
        reader.onEvent(event, json);
      } catch (error) {
        readers.delete(reader);
        options.onReaderError?.(error);
      }
    }
  }

  function keptAfter(since: number): Kept[] {
    return ring.slice(Math.max(0, since + 1 - (ring[0]?.event.seq ?? 0)));
  }

  return {
    publish(type, fields = {}) {
      const stamp = { seq: seq + 1, time: toDateTime(options.clock.wall_ms()), generation: options.generation(), type };
      const event: AgentEvent = { ...stamp, ...fields, ...stamp };
      const kept = { event, json: JSON.stringify(event) };
      if (seq >= reserved) {
        options.sequence.reserve(seq + BLOCK);
        reserved = seq + BLOCK;
      }
      seq += 1;
      ring.push(kept);
      if (ring.length > ringSize) ring.shift();
      deliver();
      return event;
    },
    subscribe(reader, since = seq) {
      readers.set(reader, Math.min(since, seq));
      deliver();
      return () => {
        readers.delete(reader);
      };
    },
    get seq() {
      return seq;
    },
    get oldest() {
      return ring[0]?.event.seq ?? seq + 1;
    },
    get readers() {
      return readers.size;
    },
    get kept() {
      return ring.map(({ event }) => event);
    },
  };
}
