// Machines at other platform processes: the process that has one connects this one to it.
import type { Duplex } from 'node:stream';
import type { ErrorCode } from '../../contract/errors.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import type { MachineReach } from './machine-reach.ts';

/** Enough of a machine to name it at another process. */
export type MachineName = Pick<MachineRow, 'id' | 'app' | 'organization_id'>;

export interface OtherHostsDeps {
  /**
   * Has the process connect this one to a target of its machine, which it starts if need be. Throws `not_reachable` with `details`,
   * `other_host`, and what that process answers.
   */
  readonly openPipe: (host: string, machine: MachineName, authority: string, signal?: AbortSignal) => Promise<Duplex>;
  /** The process to which a machine is connected by the record. */
  readonly holderOf: (machine_id: string) => Promise<string | undefined>;
  /** Runs when a process could not be asked, or refused: visitors get no details of it. */
  readonly onFailure: (machine: MachineName, error: unknown) => void;
}

/** What visitors may read of an answer, and what means the same here as there. */
const shown: ReadonlySet<ErrorCode> = new Set([
  'concurrent_sprite_limit_exceeded',
  'host_drained',
  'not_found',
  'not_isolated',
  'not_reachable',
  'service_stopped',
  'shutting_down',
  'upstream_failed',
  'upstream_timeout',
]);
const REACHES_KEPT = 10_000;
const RETRY_MS = 5_000;

export class OtherHosts {
  readonly #deps: OtherHostsDeps;
  /** The keys are process and machine; connections are pooled for each of them. */
  readonly #reaches = new Map<string, MachineReach>();

  constructor(deps: OtherHostsDeps) {
    this.#deps = deps;
  }

  holderOf(machine_id: string): Promise<string | undefined> {
    return this.#deps.holderOf(machine_id);
  }

  /** The same object each time. */
  reach(host: string, { id, app, organization_id }: MachineName): MachineReach {
    const key = `${host} ${id}`;
    const known = this.#reaches.get(key);
    if (known !== undefined) return known;
    const machine = { id, app, organization_id };
    const reach = {
      connect: (authority: string, signal?: AbortSignal) => this.#connect(host, machine, authority, signal),
    };
    this.#reaches.set(key, reach);
    const [oldest] = this.#reaches.keys();
    if (this.#reaches.size > REACHES_KEPT && oldest !== undefined) this.#reaches.delete(oldest);
    return reach;
  }

  async #connect(host: string, machine: MachineName, authority: string, signal?: AbortSignal): Promise<Duplex> {
    const { openPipe, onFailure } = this.#deps;
    try {
      return await openPipe(host, machine, authority, signal);
    } catch (error) {
      if (signal?.aborted === true) throw error;
      if (error instanceof RemoraError && shown.has(error.code) && !namesHost(error)) throw error;
      onFailure(machine, error);
      throw toVisitorError(error);
    }
  }
}

function toVisitorError(error: unknown): RemoraError {
  if (error instanceof RemoraError && error.code === 'other_host') {
    return new RemoraError(
      'other_host',
      'this machine is at another platform process, to which no way leads from here',
    );
  }
  const message = 'the platform process that has this machine does not answer; try again';
  return new RemoraError('not_reachable', message, { retryAfter_ms: RETRY_MS });
}

function namesHost({ details }: RemoraError): boolean {
  return typeof details === 'object' && details !== null && 'host' in details;
}
