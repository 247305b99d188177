// The operations of leases of machines.
import { LEASE_HEADER, machineLeaseOperations as operations } from '../../contract/machine-leases.ts';
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { MachineAccess } from '../machines/access/machine-access.ts';
import { createMachineConfigStore } from '../machines/records/machine-config-store.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import type { Sql } from '../storage/storage.ts';
import { type Principal, tokenOf } from '../tokens/principal.ts';
import { toLease } from './to-lease.ts';

export interface MachineLeaseDeps {
  readonly storage: Sql;
  readonly access: MachineAccess;
  readonly clock: Clock;
}

type Held = Pick<MachineRow, 'version' | 'lease_nonce' | 'lease_owner' | 'lease_description' | 'lease_expires_at'>;

export function createMachineLeaseHandlers(deps: MachineLeaseDeps): Handlers<typeof operations, Principal> {
  const { access, clock } = deps;
  const configs = createMachineConfigStore(deps.storage);
  return {
    async readLease(call) {
      const row = await access.find(call, operations.readLease);
      if (row.lease_nonce !== null && (row.lease_expires_at ?? 0) > clock.wall_ms()) return toAnswer(row);
      throw new RemoraError('not_found', 'nobody holds a lease of this machine');
    },
    async acquireLease(call) {
      const row = await access.find(call, operations.acquireLease);
      const now_ms = clock.wall_ms();
      const given = call.request.headers[LEASE_HEADER];
      const held = given === undefined ? undefined : String(given);
      const made = toLease(tokenOf(call.principal), call.body.ttl, call.body.description, now_ms);
      const lease = held === row.lease_nonce ? { ...made, nonce: held ?? made.nonce } : made;
      if (!(await configs.takeLease(row.id, lease, held, now_ms))) throw toHeld(row);
      const { nonce, owner, description, expires_at } = lease;
      return toAnswer({
        version: row.version,
        lease_nonce: nonce,
        lease_owner: owner,
        lease_description: description,
        lease_expires_at: expires_at,
      });
    },
    async releaseLease(call) {
      const row = await access.find(call, operations.releaseLease);
      const given = call.request.headers[LEASE_HEADER];
      if (given === undefined) throw new RemoraError('conflict', `send the nonce of the lease in ${LEASE_HEADER}`);
      if (await configs.dropLease(row.id, String(given))) return { ok: true };
      if (row.lease_nonce === null) throw new RemoraError('not_found', 'nobody holds a lease of this machine');
      throw toHeld(row);
    },
  };
}

function toHeld({ lease_owner, lease_expires_at }: MachineRow): RemoraError {
  const expires_at = Math.floor((lease_expires_at ?? 0) / 1_000);
  const message = `${lease_owner} holds the lease of this machine; wait until it is over, or send its nonce in ${LEASE_HEADER}`;
  return new RemoraError('conflict', message, { details: { owner: lease_owner, expires_at } });
}

function toAnswer({ version, lease_nonce, lease_owner, lease_description, lease_expires_at }: Held) {
  const expires_at = Math.floor((lease_expires_at ?? 0) / 1_000);
  const who = { owner: lease_owner ?? '', description: lease_description ?? '' };
  return { status: 'success' as const, data: { nonce: lease_nonce ?? '', expires_at, ...who, version } };
}
