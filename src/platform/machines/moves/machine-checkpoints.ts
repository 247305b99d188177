// Checkpoints of the machines of this host: one operation at a time for each machine, and the stop and the boot around a restore.
import type { KeyedMutex } from '../../../core/keyed-mutex.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import type { CheckpointWork, DriverCheckpoint } from '../drivers/machine-checkpoints.ts';
import type { MachineDriver } from '../drivers/machine-driver.ts';
import type { WantedState } from '../records/machine-row.ts';
import type { MachineStore } from '../records/machine-store.ts';
import type { MachineRecords } from './machine-records.ts';

export interface CheckpointsDeps {
  readonly host: string;
  readonly machines: Pick<MachineStore, 'claim' | 'setRestored'>;
  readonly driver: Pick<MachineDriver, 'checkpoints' | 'state'>;
  readonly records: Pick<MachineRecords, 'ownRow' | 'movableRow'>;
  readonly mutex: KeyedMutex;
  /** Ends the machine; the caller has its turn. */
  readonly endNow: (id: string, wanted: WantedState) => Promise<void>;
  readonly start: (id: string) => Promise<unknown>;
  readonly signal: AbortSignal;
}

type OnProgress = CheckpointWork['onProgress'];

export interface RestoreWork {
  readonly onProgress: OnProgress;
  /** Runs before the machine ends, once nothing that can be known stands against it. */
  readonly beforeEnd: () => Promise<void>;
}

/**
 * Every method throws `not_found`, `external_machine` and `other_host` for the machine, and `not_found` for the checkpoint; each that changes
 * something throws `conflict` while another one is under way for the machine, and `storage_full`.
 */
export interface CheckpointMoves extends AsyncDisposable {
  /** The checkpoints in the order of their numbers. */
  list(id: string): Promise<readonly DriverCheckpoint[]>;
  read(id: string, checkpoint_id: string): Promise<DriverCheckpoint>;
  /** The machine is not woken. Throws `limit_reached`. */
  make(id: string, comment: string | undefined, onProgress: OnProgress): Promise<DriverCheckpoint>;
  /** Keeps what is there as an automatic checkpoint, puts the files of the checkpoint in place, and boots the machine if it ran. */
  restore(id: string, checkpoint_id: string, work: RestoreWork): Promise<void>;
  /** Throws `conflict` for the one that the files of the machine come from. */
  remove(id: string, checkpoint_id: string): Promise<void>;
  /** Ends what is under way for a machine, and runs a step before which nothing new begins. */
  without<T>(id: string, step: () => Promise<T>): Promise<T>;
}

const MOST = 100;
/** Bounds the automatic ones. */
const AUTOMATIC = 5;

export function createCheckpointMoves(deps: CheckpointsDeps): CheckpointMoves {
  const { driver, records, machines, mutex } = deps;
  const { checkpoints } = driver;
  const underWay = new Map<string, { readonly abort: AbortController; readonly over: Promise<void> }>();

  async function alone<T>(id: string, step: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (underWay.has(id)) {
      throw new RemoraError('conflict', 'another checkpoint operation of this sprite is under way; wait for its end');
    }
    const abort = new AbortController();
    const { promise: over, resolve } = Promise.withResolvers<void>();
    underWay.set(id, { abort, over });
    try {
      return await step(AbortSignal.any([abort.signal, deps.signal]));
    } finally {
      underWay.delete(id);
      resolve();
    }
  }

  /** The files of a machine belong to the host that makes them. */
  async function claim(id: string): Promise<void> {
    await records.movableRow(id);
    if (!(await machines.claim(id, deps.host))) await records.ownRow(id);
  }

  async function find(id: string, checkpoint_id: string): Promise<DriverCheckpoint> {
    const found = (await checkpoints.list(id)).find((each) => each.id === checkpoint_id);
    if (found === undefined) throw new RemoraError('not_found', `there is no checkpoint ${checkpoint_id}`);
    return found;
  }

  async function removeOldAutomatic(id: string): Promise<void> {
    const automatic = (await checkpoints.list(id)).filter(({ is_auto }) => is_auto);
    const current = await checkpoints.current(id);
    for (const old of automatic.slice(0, -AUTOMATIC)) if (old.id !== current) await checkpoints.remove(id, old.id);
  }

  async function checkCount(id: string): Promise<void> {
    const { length } = await checkpoints.list(id);
    if (length < MOST) return;
    const message = `a sprite has at most ${MOST} checkpoints, and this one has ${length}; delete some`;
    throw new RemoraError('limit_reached', message, { details: { limit: MOST } });
  }

  /** When it rejects before the files are in place, those that were there are there. */
  async function replaceFiles(id: string, checkpoint_id: string, work: CheckpointWork & RestoreWork): Promise<void> {
    await using prepared = await checkpoints.prepareRestore(id, checkpoint_id, work);
    let ran = false;
    try {
      await mutex.run(id, async () => {
        work.signal.throwIfAborted();
        await records.movableRow(id);
        ran = driver.state(id) === 'running';
        await work.beforeEnd();
        work.onProgress('services and sessions are ended');
        await deps.endNow(id, ran ? 'running' : 'stopped');
        const comment = `before the restore of ${checkpoint_id}`;
        const kept = await checkpoints.make(id, { ...work, comment, is_auto: true, takeTurn: (step) => step() });
        work.onProgress(`what was there is kept as ${kept.id}`);
        // First: a crash after it must not have the next boot throw them away.
        await machines.setRestored(id);
        await prepared.putInPlace();
      });
    } finally {
      if (ran && !work.signal.aborted) await deps.start(id);
    }
  }

  return {
    async list(id) {
      await records.movableRow(id);
      return await checkpoints.list(id);
    },
    async read(id, checkpoint_id) {
      await records.movableRow(id);
      return await find(id, checkpoint_id);
    },
    async make(id, comment, onProgress) {
      await claim(id);
      return await alone(id, async (signal) => {
        await checkCount(id);
        const takeTurn = <T>(step: () => Promise<T>) => mutex.run(id, step);
        return await checkpoints.make(id, { comment, is_auto: false, takeTurn, signal, onProgress });
      });
    },
    async restore(id, checkpoint_id, work) {
      await claim(id);
      await alone(id, async (signal) => {
        await replaceFiles(id, checkpoint_id, { ...work, signal });
        await removeOldAutomatic(id);
      });
    },
    async remove(id, checkpoint_id) {
      await records.movableRow(id);
      await alone(id, async () => {
        await find(id, checkpoint_id);
        if ((await checkpoints.current(id)) === checkpoint_id) {
          const message = `the files of the sprite come from ${checkpoint_id}; make or restore another checkpoint first`;
          throw new RemoraError('conflict', message);
        }
        await checkpoints.remove(id, checkpoint_id);
      });
    },
    async without(id, step) {
      for (let busy = underWay.get(id); busy !== undefined; busy = underWay.get(id)) {
        busy.abort.abort(new RemoraError('invalid_state', 'the machine was destroyed'));
        await busy.over;
      }
      return await alone(id, step);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...underWay.values()].map(({ over }) => over));
    },
  };
}
