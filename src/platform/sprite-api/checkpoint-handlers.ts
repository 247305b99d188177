// The operations of checkpoints: the host of the machine carries them out, and the machine is not woken for them.
import { setTimeout as sleep } from 'node:timers/promises';
import type { CheckpointEvent, CheckpointInfo, checkpointOperations } from '../../contract/checkpoints.ts';
import { type Clock, toDateTime } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { EventSink } from '../../http/event-sink.ts';
import type { Handlers } from '../../http/handler.ts';
import type { DriverCheckpoint } from '../machines/drivers/machine-checkpoints.ts';
import type { MachineService } from '../machines/moves/machine-service.ts';
import { type Principal, spriteOf } from '../tokens/principal.ts';
import { findTrustedMachine, type TrustedMachineDeps } from './trusted-machine.ts';

/** What a line needs to reach a caller inside the machine before that ends. */
const LAST_LINE_MS = 300;

export interface CheckpointHandlerDeps extends TrustedMachineDeps {
  readonly machineService: Pick<MachineService, 'checkpoints'>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'error'>;
}

export function createCheckpointHandlers(
  deps: CheckpointHandlerDeps,
): Handlers<typeof checkpointOperations, Principal> {
  const { checkpoints } = deps.machineService;
  const find = async (principal: Principal, name: string) => (await findTrustedMachine(deps, principal, name)).id;

  /** An error before the first line is an answer of its own; after it, it is the last line. */
  async function report(
    sink: EventSink<CheckpointEvent>,
    work: (onProgress: (line: string) => void) => Promise<string>,
  ): Promise<void> {
    const time = () => toDateTime(deps.clock.wall_ms());
    let hasBegun = false;
    try {
      const data = await work((line) => {
        hasBegun = true;
        sink.send({ type: 'info', data: line, time: time() });
      });
      sink.send({ type: 'complete', data, time: time() });
    } catch (error) {
      if (!hasBegun) throw error;
      if (!(error instanceof RemoraError)) deps.log.error({ err: error }, 'a checkpoint operation failed');
      sink.send({ type: 'error', error: toText(error), time: time() });
    }
    sink.end();
  }

  return {
    async createCheckpoint({ principal, params, body }, sink) {
      const id = await find(principal, params.name);
      await report(sink, async (onProgress) => {
        const made = await checkpoints.make(id, body?.comment, onProgress);
        onProgress(`the files are kept as ${made.id}`);
        return `Checkpoint ${made.id} created`;
      });
    },
    async listCheckpoints({ principal, params, query }) {
      const all = await checkpoints.list(await find(principal, params.name));
      const { history } = query;
      return (history === undefined ? all : toHistory(all, history)).map(toCheckpointInfo);
    },
    async readCheckpoint({ principal, params }) {
      return toCheckpointInfo(await checkpoints.read(await find(principal, params.name), params.id));
    },
    async deleteCheckpoint({ principal, params }) {
      await checkpoints.remove(await find(principal, params.name), params.id);
    },
    async restoreCheckpoint({ principal, params }, sink) {
      const id = await find(principal, params.name);
      await report(sink, async (onProgress) => {
        await checkpoints.restore(id, params.id, {
          onProgress,
          async beforeEnd() {
            if (spriteOf(principal) === undefined) return;
            onProgress(`this machine ends now, and this connection with it; ${params.id} is put in place all the same`);
            await sleep(LAST_LINE_MS);
          },
        });
        return `Checkpoint ${params.id} restored`;
      });
    },
  };
}

function toCheckpointInfo(checkpoint: DriverCheckpoint): CheckpointInfo {
  const { id, created_ms, comment, source_id, is_auto, is_healthy } = checkpoint;
  return {
    id,
    create_time: toDateTime(created_ms),
    ...(comment === undefined ? {} : { comment }),
    ...(source_id === undefined ? {} : { source_id }),
    is_auto,
    health: is_healthy ? '' : 'mount_failed',
  };
}

/** A checkpoint and those that it comes from, by number. */
function toHistory(all: readonly DriverCheckpoint[], id: string): readonly DriverCheckpoint[] {
  const found = new Set<string>();
  const byId = new Map(all.map((each) => [each.id, each]));
  for (let at = byId.get(id); at !== undefined && !found.has(at.id); at = byId.get(at.source_id ?? ''))
    found.add(at.id);
  return all.filter((each) => found.has(each.id));
}

function toText(error: unknown): string {
  return error instanceof RemoraError
    ? `${error.code}: ${error.message}`
    : 'internal: the operation failed; the log has the cause';
}
