// The operation that gives a machine another configuration.
import { machineChangeOperations } from '../../contract/machine-changes.ts';
import type { Machine } from '../../contract/machines.ts';
import type { Call } from '../../http/handler.ts';
import { toAppTurn } from '../apps/app-turn.ts';
import { createMachineConfigStore } from '../machines/records/machine-config-store.ts';
import { createMachineHistory } from '../machines/records/machine-history.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import { createMachineStore } from '../machines/records/machine-store.ts';
import { toMachineRecord } from '../machines/records/machine-views.ts';
import type { Sql } from '../storage/storage.ts';
import { type Principal, tokenOf } from '../tokens/principal.ts';
import { attachVolumes } from './attach-volumes.ts';
import type { MachineChangeDeps } from './machine-change-handlers.ts';
import { toMachineConfig } from './machine-config-of.ts';
import { checkName, makeVersion } from './make-machine.ts';
import { toLease } from './to-lease.ts';

const operation = machineChangeOperations.updateMachine;

/** What a transaction throws to end without effect. */
class Undone extends Error {}

export async function updateMachine(
  deps: MachineChangeDeps,
  { body, principal }: Pick<Call<typeof operation, Principal>, 'body' | 'principal'>,
  { id, app, name: before }: MachineRow,
): Promise<Machine> {
  const { storage, service, clock } = deps;
  const { name = before } = body;
  const config = toMachineConfig(body, deps.defaults, service);

  /** Volumes and name are judged by the same code that records them. */
  async function write(sql: Sql, row: MachineRow): Promise<void> {
    const now_ms = clock.wall_ms();
    await checkName(sql, row, name, id);
    await attachVolumes(sql, { ...row, config, host: row.host ?? deps.host }, now_ms);
    const next = { config, version: makeVersion(), name, instance_id: makeVersion() };
    await createMachineConfigStore(sql).setVersion(id, next, now_ms);
    const status = (await createMachineStore(sql).find(id))?.state ?? row.state;
    const event = { type: 'update', status, source: 'user', timestamp: now_ms, instance_id: next.instance_id } as const;
    await createMachineHistory(sql).add(id, event);
  }

  const updated = await service.update(id, {
    expected: body.current_version,
    skipLaunch: body.skip_launch,
    async check(row) {
      const attempt = storage.transaction(async (sql) => {
        await write(sql, row);
        throw new Undone();
      }, toAppTurn(app));
      await attempt.catch((error: unknown) => {
        if (!(error instanceof Undone)) throw error;
      });
    },
    store: (row) => storage.transaction((sql) => write(sql, row), toAppTurn(app)),
  });
  if (body.lease_ttl === undefined) return toMachineRecord(updated);
  const lease = toLease(tokenOf(principal), body.lease_ttl, '', clock.wall_ms());
  const held = updated.lease_nonce ?? undefined;
  const isTaken = await createMachineConfigStore(storage).takeLease(id, lease, held, clock.wall_ms());
  return { ...toMachineRecord(updated), ...(isTaken ? { nonce: lease.nonce } : {}) };
}
