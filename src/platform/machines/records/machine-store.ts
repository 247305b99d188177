// The machines of every organization: their configuration and their last recorded state.
import { machineStates } from '../../../contract/machine-events.ts';
import type { MachineExit, MachineRole, MachineStatus } from '../../../contract/machines.ts';
import type { Sql } from '../../storage/storage.ts';
import { createUsageLedger } from '../../usage/usage-ledger.ts';
import {
  type MachineRow,
  type NewMachine,
  parseRow,
  type StoredMachine,
  toRow,
  type WantedState,
} from './machine-row.ts';

export interface MachinePage {
  readonly after: string;
  readonly limit: number;
}

export interface MachineStore {
  insert(machine: NewMachine, now_ms: number): Promise<void>;
  find(id: string): Promise<MachineRow | undefined>;
  findBySprite(sprite_id: string): Promise<MachineRow | undefined>;
  /** Sorted by id; the first `limit` after `after`. */
  list(organization_id: string, app: string, page: MachinePage): Promise<readonly MachineRow[]>;
  /** The machines of a host, and those that never had one, which are up, or are to run or to be destroyed. */
  listNotStopped(host: string): Promise<readonly MachineRow[]>;
  /**
   * The machines of a host with which something may be left to do: those that are stopped and are to run, those that are up and are to be
   * stopped, those whose snapshot was thrown away, and those that are to be destroyed.
   */
  listLeft(host: string): Promise<readonly MachineRow[]>;
  /** The machines of a host that do not run and have a schedule. */
  listScheduled(host: string): Promise<readonly MachineRow[]>;
  /** The suspended machines of a host whose snapshot is from before a time, and is not discarded. */
  listSuspended(host: string, before_ms: number): Promise<readonly MachineRow[]>;
  /** How many machines of an organization are in one of these states. */
  count(organization_id: string, states: readonly MachineStatus[]): Promise<number>;
  /** The same, and those that are stopped and to be booted again. */
  countRunning(organization_id: string, states: readonly MachineStatus[]): Promise<number>;
  /** False when the machine is no longer in the state `from`. */
  move(id: string, from: MachineStatus, to: MachineStatus, now_ms: number): Promise<boolean>;
  /** Records the exit of the machine with the state that follows it, from any state. */
  end(id: string, to: MachineStatus, exit: MachineExit, wanted: WantedState, now_ms: number): Promise<void>;
  want(id: string, wanted: WantedState): Promise<void>;
  /** Makes the machine one of this host. False when it belongs to another one. */
  claim(id: string, host: string): Promise<boolean>;
  setInstance(id: string, instance_id: string): Promise<void>;
  /** The files of a checkpoint are put in place: the next boot keeps them. */
  setRestored(id: string): Promise<void>;
  setRole(id: string, role: MachineRole, now_ms: number): Promise<void>;
  setAgentVersion(id: string, version: string): Promise<void>;
  delete(id: string, now_ms: number): Promise<void>;
}

const KNOWN_STATES = machineStates.map((state) => `'${state}'`).join(', ');
const IDLE_STATES = "'created', 'stopped', 'failed'";

/** Selects what `parseRow` reads: `m` is the machine and `s` its sprite. */
export const selectMachines =
  'SELECT m.*, s.name AS sprite, s.machine_only FROM machines m JOIN sprites s ON s.id = m.sprite_id';

/** `sql` is that of a transaction where a machine is moved, ended or deleted: its usage is counted with it. */
export function createMachineStore(sql: Sql): MachineStore {
  const ledger = createUsageLedger(sql);

  async function count(organization_id: string, states: readonly MachineStatus[], or: string): Promise<number> {
    const places = states.map((_, index) => `$${index + 2}`).join(', ');
    const text = `SELECT count(*) AS count FROM machines WHERE organization_id = $1 AND (state IN (${places}) ${or})`;
    return (await sql.one<{ count: number }>(text, [organization_id, ...states]))?.count ?? 0;
  }

  return {
    async insert(machine, now_ms) {
      const { id, app, organization_id, sprite_id, name, region, private_ip } = machine;
      await sql.run(
        `INSERT INTO machines (id, app, organization_id, sprite_id, name, region, private_ip, config, state, instance_id,
                               created_at, updated_at, config_updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'stopped', '', $9, $9, $9)`,
        [id, app, organization_id, sprite_id, name, region, private_ip, JSON.stringify(machine.config), now_ms],
      );
    },
    async find(id) {
      return toRow(await sql.one<StoredMachine>(`${selectMachines} WHERE m.id = $1`, [id]));
    },
    async findBySprite(sprite_id) {
      return toRow(await sql.one<StoredMachine>(`${selectMachines} WHERE m.sprite_id = $1`, [sprite_id]));
    },
    async list(organization_id, app, { after, limit }) {
      const text = `${selectMachines} WHERE m.organization_id = $1 AND m.app = $2 AND m.id > $3 ORDER BY m.id LIMIT $4`;
      return (await sql.all<StoredMachine>(text, [organization_id, app, after, limit])).map(parseRow);
    },
    async listNotStopped(host) {
      const text = `${selectMachines}
                    WHERE (m.state NOT IN (${IDLE_STATES}) OR m.wanted IN ('running', 'destroyed')) AND (m.host = $1 OR m.host IS NULL)`;
      return (await sql.all<StoredMachine>(text, [host])).map(parseRow);
    },
    async listLeft(host) {
      const text = `${selectMachines}
                    WHERE m.host = $1 AND (m.wanted = 'destroyed' OR (m.state = 'suspended' AND m.discarded IS NOT NULL)
                      OR (m.wanted = 'running' AND m.state = 'stopped')
                      OR (m.wanted = 'stopped' AND m.state IN ('starting', 'running', 'suspending', 'suspended')))`;
      return (await sql.all<StoredMachine>(text, [host])).map(parseRow);
    },
    async listScheduled(host) {
      const text = `${selectMachines} WHERE m.host = $1 AND m.state IN (${IDLE_STATES}) AND m.config LIKE '%"schedule":"%'`;
      return (await sql.all<StoredMachine>(text, [host])).map(parseRow);
    },
    async listSuspended(host, before_ms) {
      const text = `${selectMachines} WHERE m.host = $1 AND m.state = 'suspended' AND m.discarded IS NULL AND m.state_since < $2`;
      return (await sql.all<StoredMachine>(text, [host, before_ms])).map(parseRow);
    },
    count: (organization_id, states) => count(organization_id, states, ''),
    countRunning: (organization_id, states) =>
      count(organization_id, states, "OR (state = 'stopped' AND wanted = 'running')"),
    // A state that cannot be read counts as `stopped`, so that the machine can be started.
    async move(id, from, to, now_ms) {
      const text = `UPDATE machines SET state = $1, updated_at = CASE WHEN state = $1 THEN updated_at ELSE $4 END,
                      state_since = CASE WHEN state = $1 THEN state_since ELSE $4 END,
                      restored = CASE WHEN $1 = 'running' THEN 0 ELSE restored END
                    WHERE id = $2 AND CASE WHEN state IN (${KNOWN_STATES}) THEN state ELSE 'stopped' END = $3`;
      const before = from === to ? undefined : await ledger.stateOf(id);
      const isMoved = (await sql.run(text, [to, id, from, now_ms])) > 0;
      if (isMoved && before !== undefined) await ledger.endState(before, now_ms);
      return isMoved;
    },
    async end(id, to, exit, wanted, now_ms) {
      const text = `UPDATE machines SET state = $1, last_exit = $2, wanted = $3, updated_at = $4,
                      state_since = CASE WHEN state = $1 THEN state_since ELSE $4 END WHERE id = $5`;
      const before = await ledger.stateOf(id);
      await sql.run(text, [to, JSON.stringify(exit), wanted, now_ms, id]);
      if (before !== undefined && before.state !== to) await ledger.endState(before, now_ms);
    },
    async want(id, wanted) {
      await sql.run('UPDATE machines SET wanted = $1 WHERE id = $2', [wanted, id]);
    },
    async claim(id, host) {
      const text = 'UPDATE machines SET host = $1 WHERE id = $2 AND (host IS NULL OR host = $1)';
      return (await sql.run(text, [host, id])) > 0;
    },
    async setInstance(id, value) {
      await sql.run('UPDATE machines SET instance_id = $1, booted = 1 WHERE id = $2', [value, id]);
    },
    async setRestored(id) {
      await sql.run('UPDATE machines SET restored = 1 WHERE id = $1', [id]);
    },
    async setRole(id, value, now_ms) {
      const text = `UPDATE machines SET role = $1, updated_at = $3 WHERE id = $2 AND (role IS NULL OR role <> $1)`;
      await sql.run(text, [value, id, now_ms]);
    },
    async setAgentVersion(id, value) {
      await sql.run('UPDATE machines SET agent_version = $1 WHERE id = $2', [value, id]);
    },
    async delete(id, now_ms) {
      const before = await ledger.stateOf(id);
      if (before !== undefined) await ledger.endState(before, now_ms);
      // The sprite that a machine without one has for its agent goes with it, whatever ends the machine.
      await sql.run(
        'DELETE FROM sprites WHERE machine_only = 1 AND id IN (SELECT sprite_id FROM machines WHERE id = $1)',
        [id],
      );
      await sql.run('DELETE FROM machines WHERE id = $1', [id]);
    },
  };
}
