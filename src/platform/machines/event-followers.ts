// Readers that follow the events of a machine. Each reads the record when the platform says that there is something new, so that none is
// missed and none comes twice.
import type { MachineEvent } from '../../contract/machine-events.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { EventSink } from '../../http/event-sink.ts';
import type { Changes } from '../changes.ts';
import { type Sql, StorageFailure } from '../storage/storage.ts';
import { createMachineHistory } from './records/machine-history.ts';
import type { MachineStore } from './records/machine-store.ts';

export interface EventFollowers {
  /** Sends the events after one, and then each that comes until the sink is closed or the machine is gone. `recheck` throws when the token has ended. */
  follow(id: string, after: number, sink: EventSink<MachineEvent>, recheck: () => Promise<void>): Promise<void>;
}

interface Follower {
  readonly id: string;
  readonly sink: EventSink<MachineEvent>;
  readonly recheck: () => Promise<void>;
  after: number;
  isReading: boolean;
  /** Something came while it was read. */
  isBehind: boolean;
}

export interface EventFollowersDeps {
  readonly storage: Sql;
  readonly machines: Pick<MachineStore, 'find'>;
  readonly changes: Pick<Changes, 'subscribe'>;
}

export function createEventFollowers({ storage, machines, changes }: EventFollowersDeps): EventFollowers {
  const history = createMachineHistory(storage);
  const followers = new Set<Follower>();

  async function readNew(follower: Follower): Promise<void> {
    const { id, sink } = follower;
    for (const event of await history.listAfter(id, follower.after)) {
      follower.after = Number(event.id);
      sink.send(event);
    }
    if ((await machines.find(id)) === undefined) sink.end();
  }

  async function look(follower: Follower): Promise<void> {
    if (follower.isReading) {
      follower.isBehind = true;
      return;
    }
    follower.isReading = true;
    try {
      do {
        follower.isBehind = false;
        await readNew(follower);
      } while (follower.isBehind && !follower.sink.closed);
    } catch (error) {
      // What cannot be read now is read at the next look.
      if (!(error instanceof StorageFailure)) follower.sink.fail('internal', 'the events could not be read');
    } finally {
      follower.isReading = false;
    }
  }

  async function revalidate(follower: Follower): Promise<void> {
    try {
      await follower.recheck();
      await look(follower);
    } catch (error) {
      if (error instanceof StorageFailure) return;
      const known =
        error instanceof RemoraError ? error : new RemoraError('internal', 'the token could not be checked');
      follower.sink.fail(known.code, known.message);
    }
  }

  changes.subscribe('machine_event', ({ machine_id }) => {
    for (const follower of followers) if (follower.id === machine_id) void look(follower);
  });
  // Another platform process may have recorded something.
  changes.subscribe('revalidation_due', () => {
    for (const follower of followers) void revalidate(follower);
  });

  return {
    async follow(id, after, sink, recheck) {
      const follower: Follower = { id, sink, recheck, after, isReading: false, isBehind: false };
      followers.add(follower);
      sink.onClose(() => followers.delete(follower));
      await look(follower);
    },
  };
}
