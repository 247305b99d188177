// The operation that makes a machine and starts it.
import { type CreateMachineRequest, machineChangeOperations } from '../../contract/machine-changes.ts';
import type { Machine } from '../../contract/machines.ts';
import type { Call } from '../../http/handler.ts';
import { toAppTurn } from '../apps/app-turn.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import { toMachineRecord } from '../machines/records/machine-views.ts';
import { organizationOf, type Principal, tokenOf } from '../tokens/principal.ts';
import { findMounted } from './attach-volumes.ts';
import type { MachineChangeDeps } from './machine-change-handlers.ts';
import { toMachineConfig } from './machine-config-of.ts';
import { makeMachine } from './make-machine.ts';
import { toLease } from './to-lease.ts';

const operation = machineChangeOperations.createMachine;

/** Has the host of its volumes make it, where it names some. */
export async function createMachine(
  deps: MachineChangeDeps,
  call: Call<typeof operation, Principal>,
): Promise<Machine> {
  const { storage, access, clock } = deps;
  const { body, principal, params } = call;
  const organization = organizationOf(principal);
  const { name: app } = await deps.apps.find(organization, params.app_name);
  const place = { organization_id: organization.id, app };
  const config = toMachineConfig(body, deps.defaults, deps.service);
  const [volume] = await findMounted(storage, { ...place, config });
  const passed = await access.pass(volume?.host ?? null, call, operation);
  if (passed !== undefined) return passed.value;
  access.rates.take('moves', `create in ${organization.id} ${app}`);
  const lease = toLeaseOf(body, principal, clock.wall_ms());
  const made = { ...place, name: body.name, config, cordoned: body.skip_service_registration, lease, host: deps.host };
  const row = await storage.transaction((sql) => makeMachine(sql, made, clock.wall_ms()), toAppTurn(app));
  if (!body.skip_launch) await launch(deps, call, row);
  const launched = (await deps.machines.find(row.id)) ?? row;
  return { ...toMachineRecord(launched), ...(lease === undefined ? {} : { nonce: lease.nonce }) };
}

function toLeaseOf({ lease_ttl }: CreateMachineRequest, principal: Principal, now_ms: number) {
  return lease_ttl === undefined ? undefined : toLease(tokenOf(principal), lease_ttl, '', now_ms);
}

/** A machine that cannot be started was not made: its caller does not learn its id. */
async function launch(
  { service, sprites, place }: MachineChangeDeps,
  { principal, signal }: Pick<Call<typeof operation, Principal>, 'principal' | 'signal'>,
  { id, sprite }: MachineRow,
): Promise<void> {
  try {
    await place(id, signal, () => service.launch(id));
  } catch (error) {
    await sprites.delete(organizationOf(principal), sprite);
    throw error;
  }
}
