// GET /v1/events: one reader of the hub. Its first lines say which number is the last and which events it has missed for good.
import type { eventOperations } from '../../contract/local/events.ts';
import type { Handlers } from '../../http/handler.ts';
import type { EventHub } from './event-hub.ts';

/** The events from number `from` to `to`, both included, that a reader asked for and that are no longer kept. */
export interface Gap {
  readonly from: number;
  readonly to: number;
}

/**
 * The events that are lost for a reader that has seen everything up to `since`. A `since` beyond the last number comes from a
 * store that was lost with its numbering: all events that are kept are new to such a reader.
 */
export function toGap(since: number, hub: Pick<EventHub, 'seq' | 'oldest'>): Gap | undefined {
  const from = toStart(since, hub) + 1;
  return from < hub.oldest ? { from, to: hub.oldest - 1 } : undefined;
}

function toStart(since: number, hub: Pick<EventHub, 'seq'>): number {
  return since > hub.seq ? 0 : since;
}

export function createEventHandlers(hub: EventHub): Handlers<typeof eventOperations, unknown> {
  return {
    watchEvents({ query }, sink) {
      const types = query.types === undefined ? undefined : new Set(query.types.split(','));
      sink.send({ type: 'hello', seq: hub.seq, oldest: hub.oldest });
      const gap = query.since === undefined ? undefined : toGap(query.since, hub);
      if (gap !== undefined) sink.send({ type: 'gap', ...gap });
      if (sink.closed) return;
      const since = query.since === undefined ? undefined : toStart(query.since, hub);
      const stop = hub.subscribe(
        {
          onEvent(event, json) {
            if (types === undefined || types.has(event.type)) sink.sendText(json);
          },
        },
        since,
      );
      sink.onClose(stop);
    },
  };
}
