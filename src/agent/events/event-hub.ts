// Numbers every event of the agent, keeps it in a ring, and passes it to any number of readers. Numbers are reserved in blocks in
// the store, so that they never repeat or go back, also after a crash.
import type { AgentEventFields, AgentEventType } from '../../contract/local/event-types.ts';
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
  /** The ring of the former process of the agent. */
  readonly kept?: readonly AgentEvent[] | undefined;
  /** Called with what a reader threw; the reader has been dropped then. */
  readonly onReaderError?: (error: unknown) => void;
}

export interface EventReader {
  /** `json` is the event as one line of text, shared by all readers. A reader that throws gets no more events. */
  readonly onEvent: (event: AgentEvent, json: string) => void;
}

export interface EventHub<T extends string = AgentEventType> {
  /** The event gets its number and reaches every reader before this returns. Throws when `fields` are not JSON. */
  publish<K extends T>(type: K, fields?: AgentEventFields<K>): AgentEvent;
  /**
   * Passes on the events kept after `since`, then new ones, in order, with none lost or repeated. Without `since` only new ones.
   * Returns the function that ends it.
   */
  subscribe(reader: EventReader, since?: number): () => void;
  /** The last number used, and the oldest number that is still kept (`seq + 1` when none is). */
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

export function createEventHub<T extends string = AgentEventType>(options: EventHubOptions): EventHub<T> {
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
    publish(type, fields) {
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
