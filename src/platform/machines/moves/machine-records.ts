// Records the moves of machines by the table of states: writes one state at a time with its intent and its event, checks conditions in the
// same transaction, and notifies waiters.
import type { DiscardCause, MachineEvent } from '../../../contract/machine-events.ts';
import type { MachineExit, MachineStatus } from '../../../contract/machines.ts';
import type { Clock } from '../../../core/clock.ts';
import { judgeEligibility } from '../../../core/machine/suspend-eligibility.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import { endPorts } from '../../port-notices/end-ports.ts';
import type { Storage } from '../../storage/storage.ts';
import type { MachineDriver } from '../drivers/machine-driver.ts';
import { createMachineHistory } from '../records/machine-history.ts';
import { createMachineLimits } from '../records/machine-limits.ts';
import type { MachineRow, WantedState } from '../records/machine-row.ts';
import { createMachineStore, type MachineStore } from '../records/machine-store.ts';
import { toMachineFacts } from '../records/machine-views.ts';
import { toExitEvents } from './machine-event.ts';
import type { OnMove } from './machine-move.ts';
import { type Facts, findTransition, type Transition, type Trigger } from './machine-states.ts';
import type { Waiters } from './state-waiters.ts';
import { type MoveOptions, toOtherHost, writeMove } from './write-move.ts';

export interface MachineRecordsDeps {
  readonly storage: Pick<Storage, 'transaction'>;
  readonly host: string;
  readonly machines: MachineStore;
  readonly driver: Pick<MachineDriver, 'state' | 'lastLines'>;
  readonly onMove: OnMove;
  /** Runs after an event of the machine was recorded. */
  readonly onEvent: (machine_id: string) => void;
  readonly waiters: Pick<Waiters, 'settle'>;
  readonly clock: Clock;
}

/** Made by the user who calls, unless its source says otherwise. */
export type WantedEvent = Pick<MachineEvent, 'type'> & Partial<Pick<MachineEvent, 'cause' | 'message' | 'source'>>;

/** What follows an end. */
export interface EndVerdict {
  readonly wanted: WantedState;
  /** It is not started again by itself any more. */
  readonly isGivenUp: boolean;
}

export interface EndedMachine {
  /** The row before. */
  readonly row: MachineRow;
  readonly verdict: EndVerdict;
}

export interface MachineRecords {
  /** Reads a machine of this host. Throws `not_found`, and `other_host` for a machine of another platform process. */
  ownRow(id: string): Promise<MachineRow>;
  /** Reads a machine of this host that the platform moves. Throws what `ownRow` throws, and `external_machine` for one that is run elsewhere. */
  movableRow(id: string): Promise<MachineRow>;
  /** What the table of states says of the trigger now. */
  judge(row: MachineRow, trigger: Trigger, isRequested?: boolean): Transition;
  /** Records one move. Undefined when the trigger is refused in the state. Throws what `ownRow` and the limits throw. */
  move(id: string, trigger: Trigger, options?: MoveOptions): Promise<MachineStatus | undefined>;
  /** Throws what the limits throw when one more machine may not run. */
  checkPlace(row: MachineRow): Promise<void>;
  /** Records a state that was found. Does nothing when the machine is no longer in the state of the row. */
  correct(row: MachineRow, state: MachineStatus): Promise<void>;
  /** Records what is asked for before anything is done for it, with an event if one is given. */
  want(row: MachineRow, wanted: WantedState, event?: WantedEvent): Promise<void>;
  /** Records that the snapshot of a suspended machine, or of one that was to be resumed, is gone. */
  discard(row: MachineRow, cause: DiscardCause): Promise<void>;
  /** Records in one transaction that the instance ended, that its ports are closed, and what is wanted now. Undefined when the machine is gone. */
  end(
    id: string,
    exit: MachineExit,
    judge: (row: MachineRow, move: Transition) => EndVerdict,
  ): Promise<EndedMachine | undefined>;
}

/** How many lines of its log the event of a machine has that ended before its agent had reported. */
const LINES_KEPT = 5;

export function createMachineRecords(deps: MachineRecordsDeps): MachineRecords {
  const { storage, host, machines, driver, clock } = deps;

  async function ownRow(id: string): Promise<MachineRow> {
    const row = await machines.find(id);
    if (row === undefined) throw new RemoraError('not_found', 'there is no such machine');
    if (row.host === null || row.host === host) return row;
    throw toOtherHost(row);
  }

  function judge(row: MachineRow, trigger: Trigger, isRequested = false): Transition {
    const facts: Facts = {
      driver: driver.state(row.id),
      isDiscarded: row.discarded !== null,
      isEligible: judgeEligibility(toMachineFacts(row)).eligible,
      isRequested,
      isExternal: row.config.external === true,
    };
    return findTransition(row.state, trigger, facts);
  }

  /** False when the machine is no longer in the state of the row. */
  async function write(row: MachineRow, to: MachineStatus, move: Transition, options: MoveOptions): Promise<boolean> {
    const turn = options.place === undefined ? undefined : `places of ${row.organization_id}`;
    const written = { row, to, move, options, host, now_ms: clock.wall_ms() };
    return await storage.transaction((sql) => writeMove(sql, written), turn);
  }

  async function notifyMoved(row: MachineRow, state: MachineStatus, instance_id = row.instance_id): Promise<void> {
    await deps.onMove({ machine_id: row.id, sprite_id: row.sprite_id, state, at_ms: clock.wall_ms() });
    deps.onEvent(row.id);
    deps.waiters.settle(row.id, { state, instance_id });
  }

  return {
    ownRow,
    async movableRow(id) {
      const row = await ownRow(id);
      if (row.config.external !== true) return row;
      throw new RemoraError(
        'external_machine',
        'this machine is run elsewhere; start, suspend and stop it where it runs',
      );
    },
    judge,
    async move(id, trigger, options = {}) {
      for (;;) {
        const row = await ownRow(id);
        const move = judge(row, trigger);
        if (move.to === undefined) return undefined;
        if (!(await write(row, move.to, move, options))) continue;
        await notifyMoved(row, move.to, options.instance_id);
        return move.to;
      }
    },
    checkPlace: (row) => storage.transaction((sql) => createMachineLimits(sql).checkRunning(row)),
    async correct(row, state) {
      const now_ms = clock.wall_ms();
      const write = () => storage.transaction((sql) => createMachineStore(sql).move(row.id, row.state, state, now_ms));
      if (row.state === state || !(await write())) return;
      await notifyMoved(row, state);
    },
    async want(row, wanted, event) {
      await storage.transaction(async (sql) => {
        await createMachineStore(sql).want(row.id, wanted);
        if (event === undefined) return;
        const { state: status, instance_id } = row;
        const shared = { source: 'user', status, instance_id, timestamp: clock.wall_ms() } as const;
        await createMachineHistory(sql).add(row.id, { ...shared, ...event });
      });
      deps.onEvent(row.id);
    },
    async discard(row, cause) {
      const now_ms = clock.wall_ms();
      await storage.transaction(async (sql) => {
        const history = createMachineHistory(sql);
        await history.discard(row.id, cause);
        await endPorts(sql, row.sprite_id, row.instance_id, now_ms);
        const { state: status, instance_id } = row;
        await history.add(row.id, {
          type: 'discard',
          status,
          source: 'platform',
          timestamp: now_ms,
          instance_id,
          cause,
        });
      });
      deps.onEvent(row.id);
    },
    async end(id, exit, judgeEnd) {
      const ended = await storage.transaction(async (sql) => {
        const inside = createMachineStore(sql);
        const row = await inside.find(id);
        const move = row && judge(row, 'ended', exit.requested);
        if (row === undefined || move?.to === undefined) return undefined;
        const verdict = judgeEnd(row, move);
        const to = verdict.isGivenUp ? 'failed' : move.to;
        const now_ms = clock.wall_ms();
        await inside.end(id, to, exit, verdict.wanted, now_ms);
        await endPorts(sql, row.sprite_id, row.instance_id, now_ms);
        const history = createMachineHistory(sql);
        const lost = row.state === 'suspended' && row.discarded === null ? toLoss(exit) : undefined;
        if (lost !== undefined) await history.discard(id, lost);
        const lines = row.state === 'starting' && !exit.requested ? driver.lastLines(id).slice(-LINES_KEPT) : [];
        const fields = { now_ms, exit, lost, isGivenUp: verdict.isGivenUp, lines };
        await history.addMove(id, toExitEvents(row, to, fields), row.state);
        return { row, to, verdict };
      });
      if (ended !== undefined) await notifyMoved(ended.row, ended.to);
      return ended;
    },
  };
}

/** Why the snapshot of a suspended machine that ended is gone. */
function toLoss(exit: MachineExit): DiscardCause {
  return exit.requested ? 'stopped' : 'lost';
}
