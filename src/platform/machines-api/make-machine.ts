// Makes the records of a machine: its own, and that of the sprite that its agent is, which no list of sprites has.
import type { MachineConfig } from '../../contract/machine-config.ts';
import { toPrivateAddress } from '../../core/private-address.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { randomHex } from '../../core/urandom.ts';
import { createMachineConfigStore, type NewLease } from '../machines/records/machine-config-store.ts';
import { REGION } from '../machines/records/machine-defaults.ts';
import { createMachineHistory } from '../machines/records/machine-history.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import { createMachineStore } from '../machines/records/machine-store.ts';
import { createSpriteStore } from '../sprites/sprite-store.ts';
import type { Sql } from '../storage/storage.ts';
import { attachVolumes } from './attach-volumes.ts';

export interface MachineToMake {
  readonly organization_id: string;
  readonly app: string;
  /** Its id where it is undefined. */
  readonly name: string | undefined;
  readonly config: MachineConfig;
  readonly cordoned: boolean;
  readonly lease: NewLease | undefined;
  /** The platform process that makes it. */
  readonly host: string;
}

const ID_BYTES = 7;
const VERSION_BYTES = 13;
const MACHINES_MAX = 10_000;

/** Names a configuration, or an instance that has not begun. */
export function makeVersion(): string {
  return randomHex(VERSION_BYTES);
}

/** `sql` is that of a transaction in the turn of the app. Throws `already_exists`, `limit_reached`, and what `attachVolumes` throws. */
export async function makeMachine(sql: Sql, made: MachineToMake, now_ms: number): Promise<MachineRow> {
  const { organization_id, app, config, cordoned, lease } = made;
  const id = randomHex(ID_BYTES);
  const { name = id } = made;
  const [machines, configs] = [createMachineStore(sql), createMachineConfigStore(sql)];
  await checkName(sql, made, name, '');
  await checkCount(sql, organization_id);
  const sprite = {
    organization_id,
    name: id,
    labels: [],
    url_settings: { auth: 'sprite' },
    machine_only: true,
  } as const;
  const row = await createSpriteStore(sql).insert(sprite, now_ms);
  if (row === undefined)
    throw new RemoraError('already_exists', 'a sprite has the id of the machine as its name; try again');
  const place = {
    app,
    organization_id,
    sprite_id: row.id,
    region: REGION,
    private_ip: toPrivateAddress(organization_id, 'machine', id),
  };
  await machines.insert({ id, name, config, ...place }, now_ms);
  await machines.move(id, 'stopped', 'created', now_ms);
  const version = makeVersion();
  await configs.setVersion(id, { config, version, name, instance_id: makeVersion() }, now_ms);
  if (cordoned) await configs.setCordoned(id, true, now_ms);
  if (lease !== undefined) await configs.takeLease(id, lease, undefined, now_ms);
  await attachVolumes(sql, { id, app, organization_id, config, host: made.host }, now_ms);
  const event = { type: 'create', status: 'created', source: 'user', timestamp: now_ms } as const;
  await createMachineHistory(sql).add(id, event);
  const found = await machines.find(id);
  if (found === undefined) throw new Error(`the machine ${id} was not made`);
  return found;
}

/** Throws `already_exists` when another machine of the app than `except` has the name. */
export async function checkName(
  sql: Sql,
  { organization_id, app }: Pick<MachineToMake, 'organization_id' | 'app'>,
  name: string,
  except: string,
): Promise<void> {
  if (!(await createMachineConfigStore(sql).isNameTaken(organization_id, app, name, except))) return;
  const field = 'body.name';
  const message = `there is a machine ${name} in this app already`;
  throw new RemoraError('already_exists', `${field}: ${message}`, { details: { fields: [{ field, message }] } });
}

async function checkCount(sql: Sql, organization_id: string): Promise<void> {
  const text = 'SELECT count(*) AS count FROM machines WHERE organization_id = $1';
  const count = (await sql.one<{ readonly count: number }>(text, [organization_id]))?.count ?? 0;
  if (count < MACHINES_MAX) return;
  const message = `the organization has ${count} machines already; delete one first`;
  throw new RemoraError('limit_reached', message, { details: { limit: MACHINES_MAX } });
}
