// The host of the model: what really runs. It outlives platform processes, each of which gets a driver of it, and it does what drivers must
// stand: calls that fail, that never end, and machines that end under them.
import { RemoraError } from '../../../src/core/remora-error.ts';
import type {
  DriverState,
  InstanceEnd,
  MachineDriver,
  MachineSpec,
} from '../../../src/platform/machines/drivers/machine-driver.ts';
import type { CutGate } from './cut-gate.ts';
import type { DriverCall, Fault } from './model-plan.ts';

export interface PlayedInstance {
  readonly instance_id: string;
  state: 'running' | 'suspended' | 'over' | 'lost';
  isSilent: boolean;
}

export interface PlayedHost {
  readonly instances: ReadonlyMap<string, PlayedInstance>;
  readonly violations: readonly string[];
  /** The fault of the next call that it is for. */
  fault: Fault | undefined;
  /** The agents of instances that begin now never report. */
  isSilent: boolean;
  /** A driver for a platform process. `report`: what its agents call. */
  open(gate: CutGate, report: (id: string) => Promise<void>): MachineDriver;
  /** Agents that have not been answered try again. */
  reportAgain(): void;
  /** The instance ends by itself. */
  end(id: string, end: InstanceEnd): Promise<void>;
  /** What runs is lost with the host, and the memory of what is suspended stays. */
  reboot(): void;
}

interface Life {
  readonly gate: CutGate;
  readonly report: (id: string) => Promise<void>;
  onExit: (id: string, end: InstanceEnd) => Promise<void>;
}

const UNSEEN: InstanceEnd = { exit_code: null, signal: null };
const KILLED: InstanceEnd = { exit_code: null, signal: 'SIGKILL' };

export function createPlayedHost(onCall: (line: string) => void): PlayedHost {
  const instances = new Map<string, PlayedInstance>();
  const violations: string[] = [];
  let life: Life | undefined;

  async function end(id: string, exit: InstanceEnd): Promise<void> {
    const instance = instances.get(id);
    if (instance === undefined || (instance.state !== 'running' && instance.state !== 'suspended')) return;
    instance.state = 'over';
    if (life !== undefined && !life.gate.isDead) await life.onExit(id, exit);
  }

  function tell(id: string, instance: PlayedInstance): void {
    if (instance.isSilent) return;
    setTimeout(() => {
      if (instances.get(id) !== instance || instance.state !== 'running') return;
      if (life !== undefined && !life.gate.isDead) life.report(id).catch(() => undefined);
    }, 1);
  }

  const played: PlayedHost = {
    instances,
    violations,
    fault: undefined,
    isSilent: false,
    open(gate, report) {
      const mine: Life = { gate, report, onExit: async () => undefined };
      life = mine;
      return createPlayedDriver({ gate, instances, violations, end, tell, played, onCall, mine });
    },
    reportAgain() {
      for (const [id, instance] of instances) if (instance.state === 'running') tell(id, instance);
    },
    end,
    reboot() {
      for (const instance of instances.values()) if (instance.state === 'running') instance.state = 'lost';
    },
  };
  return played;
}

interface DriverParts {
  readonly gate: CutGate;
  readonly instances: Map<string, PlayedInstance>;
  readonly violations: string[];
  readonly end: (id: string, exit: InstanceEnd) => Promise<void>;
  readonly tell: (id: string, instance: PlayedInstance) => void;
  readonly played: PlayedHost;
  readonly onCall: (line: string) => void;
  readonly mine: Life;
}

function createPlayedDriver(parts: DriverParts): MachineDriver {
  const { gate, instances, violations, end, tell, played, mine } = parts;

  function stateOf(id: string): DriverState {
    const state = instances.get(id)?.state;
    return state === 'running' || state === 'suspended' ? state : 'stopped';
  }

  /** `work` gets whether the machine is to be lost under the call. */
  function call<T>(name: DriverCall, id: string, work: (isLost: boolean) => Promise<T>): Promise<T> {
    return gate.pass(`driver ${name}`, async () => {
      const kind = played.fault?.call === name ? played.fault.kind : undefined;
      if (kind !== undefined) played.fault = undefined;
      parts.onCall(`driver ${name} while ${stateOf(id)}${kind === undefined ? '' : `: ${kind}`}`);
      if (kind === 'hang') return await gate.hang();
      if (kind === 'fail') throw new RemoraError('internal', `the driver could not ${name}`);
      if (kind === 'full') throw new RemoraError('storage_full', 'the disk of the machines is full');
      return await work(kind === 'lose');
    });
  }

  const drop = (id: string) => (stateOf(id) === 'suspended' ? end(id, UNSEEN) : Promise.resolve());

  return {
    findInstances: () =>
      gate.pass('driver findInstances', async () =>
        [...instances].map(([id, { instance_id, state }]) => ({ id, instance_id, state })),
      ),
    start: ({ id, instance_id }: MachineSpec) =>
      call('start', id, async (isLost) => {
        if (stateOf(id) !== 'stopped') violations.push(`a machine that is ${stateOf(id)} was booted`);
        const instance = { instance_id, state: 'running' as const, isSilent: played.isSilent };
        instances.set(id, instance);
        if (isLost) setTimeout(() => void end(id, KILLED), 0);
        else tell(id, instance);
      }),
    suspend: (id) =>
      call('suspend', id, async (isLost) => {
        const instance = instances.get(id);
        if (instance?.state !== 'running') throw new RemoraError('invalid_state', 'the machine does not run');
        if (!isLost) {
          instance.state = 'suspended';
          return;
        }
        await end(id, KILLED);
        throw new RemoraError('internal', 'the machine ended while it was frozen');
      }),
    resume: ({ id }) =>
      call('resume', id, async (isLost) => {
        const instance = instances.get(id);
        if (isLost) await drop(id);
        if (instance === undefined || stateOf(id) === 'stopped') return { outcome: 'discarded', cause: 'lost' };
        instance.state = 'running';
        return { outcome: 'resumed' };
      }),
    dropSnapshot: (id) => call('dropSnapshot', id, () => drop(id)),
    stop: (id) => call('stop', id, () => end(id, KILLED)),
    discard: (id) =>
      call('discard', id, async () => {
        if (stateOf(id) !== 'stopped') violations.push(`the files of a machine that is ${stateOf(id)} were deleted`);
        instances.delete(id);
      }),
    state: stateOf,
    capacity: async () => ({ total_mb: null, resident_mb: 0 }),
    checkConfig: () => undefined,
    signal: async () => undefined,
    lastLines: () => [],
    onExit(listener) {
      mine.onExit = listener;
    },
    ...noFiles,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

const refuse = () => Promise.reject(new Error('the model has no files'));
const noFiles: Pick<MachineDriver, 'checkpoints' | 'volumes'> = {
  checkpoints: {
    list: async () => [],
    current: async () => undefined,
    make: refuse,
    prepareRestore: refuse,
    remove: refuse,
  },
  volumes: { make: refuse, extend: refuse, remove: refuse },
};
