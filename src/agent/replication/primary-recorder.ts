// Records which server is the primary, and publishes a change once it has lasted.
import type { Clock } from '../../core/clock.ts';
import { createPrimaryDebounce } from '../../core/replication/primary-debounce.ts';
import { hostnameOf, type Primary } from '../../core/replication/primary-status.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { Replica } from './replica.ts';

export interface PrimaryRecorderOptions {
  readonly clock: Clock;
  readonly hub: Pick<EventHub, 'publish'>;
  readonly replica: Replica;
  /** Called for every change of the primary, also one that does not last. */
  readonly onPrimary: () => void;
  /** Called for a change of the primary that lasted; `fields` are those of the event `primary_changed`. */
  readonly onPrimaryChange: (fields: Readonly<Record<string, unknown>>) => void;
}

export interface PrimaryRecorder extends Disposable {
  set(primary: Primary): void;
}

export function createPrimaryRecorder(options: PrimaryRecorderOptions): PrimaryRecorder {
  const { clock, hub, replica } = options;
  const debounce = createPrimaryDebounce();
  let timer: NodeJS.Timeout | undefined;

  function publish(): void {
    clearTimeout(timer);
    const change = debounce.takeChange(clock.mono_ms());
    if (change !== undefined) {
      const fields = { ...toPrimaryFields(change.to), previous: toPrimaryFields(change.from) };
      hub.publish('primary_changed', fields);
      options.onPrimaryChange(fields);
    }
    const pending_ms = debounce.pending_ms(clock.mono_ms());
    if (pending_ms !== undefined) timer = setTimeout(publish, pending_ms).unref();
  }

  return {
    set(primary) {
      replica.setPrimary(primary, clock.wall_ms());
      options.onPrimary();
      debounce.observe(primary, clock.mono_ms());
      publish();
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}

/** The primary as events of the agent carry it. */
export function toPrimaryFields(primary: Primary): { primary: Primary['type']; hostname?: string } {
  const hostname = hostnameOf(primary);
  return hostname === undefined ? { primary: primary.type } : { primary: primary.type, hostname };
}
