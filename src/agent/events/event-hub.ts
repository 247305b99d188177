// Every event of the agent, numbered, kept in a bounded ring, and handed to any number of readers. Numbers are reserved in
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
}

export interface EventReader {
  /** `json` is the event as one line of text, shared by all readers. */
  readonly onEvent: (event: AgentEvent, json: string) => void;
}

export interface EventHub {
  publish(type: string, fields?: Readonly<Record<string, unknown>>): AgentEvent;
  /** Everything kept after `since`, then what comes, with nothing in between lost. Returns the way to stop. */
  subscribe(reader: EventReader, since?: number): () => void;
  /** The last number used, and the oldest that is still kept (`seq + 1` when none is). */
  readonly seq: number;
  readonly oldest: number;
  readonly readers: number;
}

export function createEventHub(options: EventHubOptions): EventHub {
  const ringSize = options.ringSize ?? RING_SIZE;
  const ring: { readonly event: AgentEvent; readonly json: string }[] = [];
  const readers = new Set<EventReader>();
  let seq = options.sequence.load();
  let reserved = seq;

  return {
    publish(type, fields = {}) {
      if (seq >= reserved) {
        reserved = seq + BLOCK;
        options.sequence.reserve(reserved);
      }
      seq += 1;
      const stamp = { seq, time: toDateTime(options.clock.wall_ms()), generation: options.generation(), type };
      const event: AgentEvent = { ...stamp, ...fields, ...stamp };
      const json = JSON.stringify(event);
      ring.push({ event, json });
      if (ring.length > ringSize) ring.shift();
      for (const reader of readers) reader.onEvent(event, json);
      return event;
    },
    subscribe(reader, since) {
      if (since !== undefined)
        for (const kept of ring) if (kept.event.seq > since) reader.onEvent(kept.event, kept.json);
      readers.add(reader);
      return () => readers.delete(reader);
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
  };
}
