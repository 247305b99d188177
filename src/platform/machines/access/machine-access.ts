// The way of a call to the machine that it names: whose machine it is, how often it is called, who holds its lease, and which platform
// process has it.
import type { IncomingMessage } from 'node:http';
import { PASSED_HEADER } from '../../../contract/hosts.ts';
import { LEASE_HEADER } from '../../../contract/machine-leases.ts';
import type { Operation, ValueOf } from '../../../contract/operation.ts';
import type { Clock } from '../../../core/clock.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import type { Principal } from '../../tokens/principal.ts';
import { findMachineFor, type MachinePath } from '../records/find-machine.ts';
import type { MachineRow } from '../records/machine-row.ts';
import type { MachineStore } from '../records/machine-store.ts';
import type { MachineRates } from './machine-rates.ts';

export interface MachineCall {
  readonly params: MachinePath;
  readonly principal: Principal;
  readonly request: IncomingMessage;
  readonly body?: unknown;
}

/** A call as another platform process gets it. */
export interface CallToOwner {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Resolves with the value of the answer. Throws `not_reachable`, `other_host`, and the error that the other process answers. */
export type CallOwner = (host: string, call: CallToOwner, principal: Principal) => Promise<unknown>;

export interface MachineAccess {
  /** Serves a call that reads the record. Throws `not_found`, `forbidden` and `too_many_requests`. */
  find(call: MachineCall, operation: Operation): Promise<MachineRow>;
  /** Serves a call that changes the record only. Throws what `find` throws, and `conflict` for a lease that another caller holds. */
  findToChange(call: MachineCall, operation: Operation): Promise<MachineRow>;
  /**
   * Serves a call that moves the machine: runs `work` here, or has the platform process that has the machine answer. Throws what
   * `findToChange` throws.
   */
  move<O extends Operation>(
    call: MachineCall,
    operation: O,
    work: (row: MachineRow) => Promise<ValueOf<O>>,
  ): Promise<ValueOf<O>>;
  /** Has another platform process answer, unless this one is meant; undefined then. A call is passed on once. */
  pass<O extends Operation>(
    host: string | null,
    call: Omit<MachineCall, 'params'>,
    operation: O,
  ): Promise<{ readonly value: ValueOf<O> } | undefined>;
  readonly rates: MachineRates;
}

export interface MachineAccessDeps {
  readonly machines: Pick<MachineStore, 'find'>;
  readonly rates: MachineRates;
  /** The id of this platform process. */
  readonly host: string;
  /** Undefined where there is one platform process only. */
  readonly callOwner: CallOwner | undefined;
  readonly clock: Pick<Clock, 'wall_ms'>;
}

export function createMachineAccess(deps: MachineAccessDeps): MachineAccess {
  const { machines, rates, host, callOwner, clock } = deps;

  async function find(call: MachineCall, operation: Operation): Promise<MachineRow> {
    const row = await findMachineFor(call.principal, call.params, machines);
    rates.take(operation.method === 'GET' ? 'reads' : 'moves', toAction(operation, row.id));
    return row;
  }

  async function pass<O extends Operation>(
    to: string | null,
    { request, principal, body }: Omit<MachineCall, 'params'>,
    { answer, method }: O,
  ): Promise<{ readonly value: ValueOf<O> } | undefined> {
    const isPassed = request.headers[PASSED_HEADER] !== undefined;
    if (to === null || to === host || callOwner === undefined || isPassed) return undefined;
    const nonce = request.headers[LEASE_HEADER];
    const headers = nonce === undefined ? {} : { [LEASE_HEADER]: String(nonce) };
    const value = await callOwner(to, { method, target: request.url ?? '', headers, body }, principal);
    return { value: (answer.kind === 'json' ? answer.schema.parse(value) : undefined) as ValueOf<O> };
  }

  return {
    find,
    async findToChange(call, operation) {
      const row = await find(call, operation);
      checkLease(row, call.request, clock.wall_ms());
      return row;
    },
    async move(call, operation, work) {
      const row = await findMachineFor(call.principal, call.params, machines);
      const passed = await pass(row.host, call, operation);
      if (passed !== undefined) return passed.value;
      rates.take('moves', toAction(operation, row.id));
      checkLease(row, call.request, clock.wall_ms());
      return await work(row);
    },
    pass,
    rates,
  };
}

function toAction({ method, path }: Operation, id: string): string {
  return `${method} ${path} ${id}`;
}

/** Throws `conflict` when another caller holds the lease, and when the lease of this one is over. */
function checkLease(row: MachineRow, request: IncomingMessage, now_ms: number): void {
  const given = request.headers[LEASE_HEADER];
  const isHeld = row.lease_nonce !== null && (row.lease_expires_at ?? 0) > now_ms;
  if (isHeld ? given === row.lease_nonce : given === undefined) return;
  if (!isHeld) {
    throw new RemoraError('conflict', `the lease of ${LEASE_HEADER} is over; get another one, or leave the header out`);
  }
  const expires_at = Math.floor((row.lease_expires_at ?? 0) / 1_000);
  const message = `${row.lease_owner} holds the lease of this machine; send its nonce in ${LEASE_HEADER}, or wait until it is over`;
  throw new RemoraError('conflict', message, {
    details: { owner: row.lease_owner, description: row.lease_description, expires_at },
  });
}
