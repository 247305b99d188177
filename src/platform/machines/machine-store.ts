// The machines of every organization: what they are configured as, and the state that was recorded last.
import {
  type MachineConfig,
  type MachineExit,
  type MachineRole,
  type MachineStatus,
  machineConfig,
  machineExit,
  machineStatus,
} from '../../contract/machines.ts';
import type { Sqlite } from '../../sqlite/open.ts';

export interface MachineRow {
  readonly id: string;
  readonly app: string;
  readonly organization_id: string;
  readonly sprite_id: string;
  readonly name: string;
  readonly region: string;
  readonly private_ip: string;
  readonly config: MachineConfig;
  readonly state: MachineStatus;
  /** Names this life; empty before the first. */
  readonly instance_id: string;
  readonly last_exit: MachineExit | null;
  readonly role: MachineRole | null;
  /** Of the agent that reported last; null before the first report. */
  readonly agent_version: string | null;
  readonly created_at: number;
  /** When the configuration changed last. */
  readonly updated_at: number;
}

export type NewMachine = Omit<
  MachineRow,
  'state' | 'instance_id' | 'last_exit' | 'role' | 'agent_version' | 'created_at' | 'updated_at'
>;

export interface MachineStore {
  insert(machine: NewMachine, now_ms: number): void;
  find(id: string): MachineRow | undefined;
  findBySprite(sprite_id: string): MachineRow | undefined;
  /** The machines whose recorded state is not `stopped`. */
  listAwake(): readonly MachineRow[];
  /** How many machines of an organization are in one of these states. */
  count(organization_id: string, states: readonly MachineStatus[]): number;
  setState(id: string, state: MachineStatus): void;
  setInstance(id: string, instance_id: string): void;
  setLastExit(id: string, exit: MachineExit): void;
  setRole(id: string, role: MachineRole): void;
  setAgentVersion(id: string, version: string): void;
  delete(id: string): void;
}

interface StoredMachine extends Omit<MachineRow, 'config' | 'state' | 'last_exit'> {
  readonly config: string;
  readonly state: string;
  readonly last_exit: string | null;
}

export function createMachineStore(db: Sqlite): MachineStore {
  const insert = db.prepare<[string, string, string, string, string, string, string, string, number, number]>(
    `INSERT INTO machines (id, app, organization_id, sprite_id, name, region, private_ip, config, state, instance_id,
                           created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'stopped', '', ?, ?)`,
  );
  const byId = db.prepare<[string], StoredMachine>('SELECT * FROM machines WHERE id = ?');
  const bySprite = db.prepare<[string], StoredMachine>('SELECT * FROM machines WHERE sprite_id = ?');
  const awake = db.prepare<[], StoredMachine>("SELECT * FROM machines WHERE state <> 'stopped'");
  const count = db.prepare<[string, string], { count: number }>(
    `SELECT count(*) AS count FROM machines
     WHERE organization_id = ? AND state IN (SELECT value FROM json_each(?))`,
  );
  const state = db.prepare<[string, string]>('UPDATE machines SET state = ? WHERE id = ?');
  const instance = db.prepare<[string, string]>('UPDATE machines SET instance_id = ? WHERE id = ?');
  const exit = db.prepare<[string, string]>('UPDATE machines SET last_exit = ? WHERE id = ?');
  const role = db.prepare<[string, string]>('UPDATE machines SET role = ? WHERE id = ?');
  const version = db.prepare<[string, string]>('UPDATE machines SET agent_version = ? WHERE id = ?');
  const remove = db.prepare<[string]>('DELETE FROM machines WHERE id = ?');
  return {
    insert(machine, now_ms) {
      const { id, app, organization_id, sprite_id, name, region, private_ip } = machine;
      const config = JSON.stringify(machine.config);
      insert.run(id, app, organization_id, sprite_id, name, region, private_ip, config, now_ms, now_ms);
    },
    find: (id) => toRow(byId.get(id)),
    findBySprite: (sprite_id) => toRow(bySprite.get(sprite_id)),
    listAwake: () => awake.all().map(parseRow),
    count: (organization_id, states) => count.get(organization_id, JSON.stringify(states))?.count ?? 0,
    setState(id, value) {
      state.run(value, id);
    },
    setInstance(id, value) {
      instance.run(value, id);
    },
    setLastExit(id, value) {
      exit.run(JSON.stringify(value), id);
    },
    setRole(id, value) {
      role.run(value, id);
    },
    setAgentVersion(id, value) {
      version.run(value, id);
    },
    delete(id) {
      remove.run(id);
    },
  };
}

function toRow(stored: StoredMachine | undefined): MachineRow | undefined {
  return stored === undefined ? undefined : parseRow(stored);
}

function parseRow(stored: StoredMachine): MachineRow {
  return {
    ...stored,
    config: machineConfig.safeParse(parseJson(stored.config)).data ?? {},
    state: machineStatus.safeParse(stored.state).data ?? 'stopped',
    last_exit: machineExit.safeParse(parseJson(stored.last_exit)).data ?? null,
  };
}

/** A row that is damaged must not keep the platform from starting: it counts as a stopped machine with nothing set. */
function parseJson(text: string | null): unknown {
  if (text === null) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
