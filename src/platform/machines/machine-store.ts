// The machines of every organization: what they are configured as, and the state that was recorded last.
import {
  type MachineConfig,
  type MachineExit,
  type MachineRole,
  type MachineStatus,
  machineConfig,
  machineExit,
  machineRole,
  machineStatus,
} from '../../contract/machines.ts';
import type { Sql } from '../storage/storage.ts';

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
  /** The platform process that runs it and has its disk; null until it starts for the first time. */
  readonly host: string | null;
  readonly created_at: number;
  /** When the configuration changed last. */
  readonly updated_at: number;
}

export type NewMachine = Omit<
  MachineRow,
  'state' | 'instance_id' | 'last_exit' | 'role' | 'agent_version' | 'host' | 'created_at' | 'updated_at'
>;

export interface MachineStore {
  insert(machine: NewMachine, now_ms: number): Promise<void>;
  find(id: string): Promise<MachineRow | undefined>;
  findBySprite(sprite_id: string): Promise<MachineRow | undefined>;
  /** The machines of a host whose recorded state is not `stopped`, with those that never had a host. */
  listAwake(host: string): Promise<readonly MachineRow[]>;
  /** How many machines of an organization are in one of these states. */
  count(organization_id: string, states: readonly MachineStatus[]): Promise<number>;
  /** False when the machine is not in the state `from` any more. */
  move(id: string, from: MachineStatus, to: MachineStatus): Promise<boolean>;
  /** From now on the machine is of this host. False when it is of another one. */
  claim(id: string, host: string): Promise<boolean>;
  setInstance(id: string, instance_id: string): Promise<void>;
  setLastExit(id: string, exit: MachineExit): Promise<void>;
  setRole(id: string, role: MachineRole): Promise<void>;
  setAgentVersion(id: string, version: string): Promise<void>;
  delete(id: string): Promise<void>;
}

interface StoredMachine extends Omit<MachineRow, 'config' | 'state' | 'role' | 'last_exit'> {
  readonly config: string;
  readonly role: string | null;
  readonly state: string;
  readonly last_exit: string | null;
}

const KNOWN_STATES = "'starting', 'running', 'suspending', 'suspended', 'stopped'";

export function createMachineStore(sql: Sql): MachineStore {
  return {
    async insert(machine, now_ms) {
      const { id, app, organization_id, sprite_id, name, region, private_ip } = machine;
      await sql.run(
        `INSERT INTO machines (id, app, organization_id, sprite_id, name, region, private_ip, config, state, instance_id,
                               created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'stopped', '', $9, $9)`,
        [id, app, organization_id, sprite_id, name, region, private_ip, JSON.stringify(machine.config), now_ms],
      );
    },
    async find(id) {
      return toRow(await sql.one<StoredMachine>('SELECT * FROM machines WHERE id = $1', [id]));
    },
    async findBySprite(sprite_id) {
      return toRow(await sql.one<StoredMachine>('SELECT * FROM machines WHERE sprite_id = $1', [sprite_id]));
    },
    async listAwake(host) {
      const text = "SELECT * FROM machines WHERE state <> 'stopped' AND (host = $1 OR host IS NULL)";
      return (await sql.all<StoredMachine>(text, [host])).map(parseRow);
    },
    async count(organization_id, states) {
      const places = states.map((_, index) => `$${index + 2}`).join(', ');
      const found = await sql.one<{ count: number }>(
        `SELECT count(*) AS count FROM machines WHERE organization_id = $1 AND state IN (${places})`,
        [organization_id, ...states],
      );
      return found?.count ?? 0;
    },
    // A state that cannot be read counts as `stopped`, and can be left like that.
    async move(id, from, to) {
      const text = `UPDATE machines SET state = $1
                    WHERE id = $2 AND CASE WHEN state IN (${KNOWN_STATES}) THEN state ELSE 'stopped' END = $3`;
      return (await sql.run(text, [to, id, from])) > 0;
    },
    async claim(id, host) {
      const text = 'UPDATE machines SET host = $1 WHERE id = $2 AND (host IS NULL OR host = $1)';
      return (await sql.run(text, [host, id])) > 0;
    },
    async setInstance(id, value) {
      await sql.run('UPDATE machines SET instance_id = $1 WHERE id = $2', [value, id]);
    },
    async setLastExit(id, value) {
      await sql.run('UPDATE machines SET last_exit = $1 WHERE id = $2', [JSON.stringify(value), id]);
    },
    async setRole(id, value) {
      await sql.run('UPDATE machines SET role = $1 WHERE id = $2', [value, id]);
    },
    async setAgentVersion(id, value) {
      await sql.run('UPDATE machines SET agent_version = $1 WHERE id = $2', [value, id]);
    },
    async delete(id) {
      await sql.run('DELETE FROM machines WHERE id = $1', [id]);
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
    role: machineRole.safeParse(stored.role).data ?? null,
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
