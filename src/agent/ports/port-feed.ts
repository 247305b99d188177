// Passes each change of a port to the agent's events and to every reader of a watch, as the message of the Sandbox API.
import type { OpenPortListener, PortWatchLine } from '../../contract/local/ports.ts';
import type { PortNotification } from '../../contract/port-notices.ts';
import type { PortChange } from '../../core/ports/port-diff.ts';
import type { EventSink } from '../../http/event-sink.ts';
import type { EventHub } from '../events/event-hub.ts';

export interface PortFeed {
  publish(changes: readonly PortChange[]): void;
  /** Sends the current list, then every change, with none lost in between, until the reader is gone. */
  attach(sink: EventSink<PortWatchLine>, ports: OpenPortListener[]): void;
}

export function createPortFeed(hub: EventHub, toNotification: (change: PortChange) => PortNotification): PortFeed {
  const sinks = new Set<EventSink<PortWatchLine>>();
  return {
    publish(changes) {
      for (const change of changes) {
        const { type, ...fields } = toNotification(change);
        const line = JSON.stringify({ type, ...fields });
        for (const sink of sinks) sink.sendText(line);
        hub.publish(type, fields);
      }
    },
    attach(sink, ports) {
      sink.send({ type: 'port_list', ports });
      sinks.add(sink);
      sink.onClose(() => sinks.delete(sink));
    },
  };
}
