// Which machine of an app gets a request: the one with the fewest in flight, one more when all are busy. Pure.
import type { MachineRow } from '../machines/records/machine-row.ts';
import { CONNECTIONS_MAX } from './machine-calls.ts';

export interface Candidate {
  readonly machine: MachineRow;
  /** It runs and is connected. */
  readonly isUp: boolean;
  /** It is being started. */
  readonly isStarting: boolean;
  readonly inFlight: number;
  /** It refused what came, a moment ago. */
  readonly isLeftOut: boolean;
}

export type Choice =
  /** `start`: one that is to be started besides, because all are busy. */
  | { readonly type: 'use'; readonly machine: MachineRow; readonly start: MachineRow | undefined }
  /** None that runs has room: this one is started, and the request waits for it. */
  | { readonly type: 'start'; readonly machine: MachineRow }
  /** All are full: the request waits for one that ends. */
  | { readonly type: 'wait' }
  | { readonly type: 'none' };

/** The soft limit of a service that says nothing of its limits. */
const SOFT_LIMIT = 200;
const STARTABLE: readonly string[] = ['created', 'stopped', 'suspended', 'suspending', 'starting', 'running'];

/** `now_ms`: Unix milliseconds, for leases. */
export function chooseMachine(candidates: readonly Candidate[], now_ms: number): Choice {
  const all = candidates.filter(({ machine }) => !machine.cordoned);
  const fit = all.filter(({ isLeftOut }) => !isLeftOut);
  // Where every machine refuses, leaving all of them out would only make it last.
  const open = fit.length > 0 ? fit : all;
  const up = open.filter(({ isUp }) => isUp);
  const [best] = up.toSorted((one, other) => one.inFlight - other.inFlight);
  if (best !== undefined && best.inFlight < softLimit(best.machine)) {
    return { type: 'use', machine: best.machine, start: undefined };
  }
  const starting = open.find(({ isUp, isStarting }) => !isUp && isStarting);
  const startable = starting ?? open.filter((one) => mayStart(one, now_ms)).toSorted(bySnapshot)[0];
  if (best !== undefined && best.inFlight < hardLimit(best.machine)) {
    return { type: 'use', machine: best.machine, start: starting === undefined ? startable?.machine : undefined };
  }
  if (startable !== undefined) return { type: 'start', machine: startable.machine };
  return { type: up.length > 0 ? 'wait' : 'none' };
}

function mayStart({ machine, isUp }: Candidate, now_ms: number): boolean {
  const isLeased = machine.lease_nonce !== null && (machine.lease_expires_at ?? 0) > now_ms;
  const isAllowed = machine.config.http_service?.auto_start_machines !== false;
  return !isUp && isAllowed && !isLeased && STARTABLE.includes(machine.state);
}

/** One that goes on from its memory is up sooner. */
function bySnapshot({ machine: one }: Candidate, { machine: other }: Candidate): number {
  return Number(other.state === 'suspended') - Number(one.state === 'suspended');
}

function softLimit({ config }: MachineRow): number {
  return Math.min(config.http_service?.concurrency?.soft_limit ?? SOFT_LIMIT, hardLimitOf(config.http_service));
}

function hardLimit({ config }: MachineRow): number {
  return hardLimitOf(config.http_service);
}

function hardLimitOf(service: MachineRow['config']['http_service']): number {
  return Math.min(service?.concurrency?.hard_limit ?? CONNECTIONS_MAX, CONNECTIONS_MAX);
}
