// What a client sets of a machine: its configuration with the versions before it, its metadata, its cordon and its lease.
import { type MachineConfig, machineConfig } from '../../../contract/machine-config.ts';
import type { Sql } from '../../storage/storage.ts';

export interface NewVersion {
  readonly config: MachineConfig;
  readonly version: string;
  readonly name: string;
  /** The instance that the next boot is. */
  readonly instance_id: string;
}

export interface StoredVersion {
  readonly version: string;
  readonly config: MachineConfig;
  readonly created_at: number;
}

export interface NewLease {
  readonly nonce: string;
  readonly owner: string;
  readonly description: string;
  /** Unix milliseconds. */
  readonly expires_at: number;
}

export interface MachineConfigStore {
  /** Records a configuration and keeps it among the newest versions. */
  setVersion(id: string, next: NewVersion, now_ms: number): Promise<void>;
  /** Newest first. */
  listVersions(id: string): Promise<readonly StoredVersion[]>;
  /** Replaces the configuration without a new version: what runs is not concerned. */
  setConfig(id: string, config: MachineConfig, now_ms: number): Promise<void>;
  clearRole(id: string): Promise<void>;
  setCordoned(id: string, isCordoned: boolean, now_ms: number): Promise<void>;
  /** False while another lease than `held` is good. */
  takeLease(id: string, lease: NewLease, held: string | undefined, now_ms: number): Promise<boolean>;
  /** False when the nonce is not that of the lease. */
  dropLease(id: string, nonce: string): Promise<boolean>;
  isNameTaken(organization_id: string, app: string, name: string, except: string): Promise<boolean>;
}

const VERSIONS_KEPT = 20;

const trim = `
DELETE FROM machine_versions WHERE machine_id = $1 AND version NOT IN (
  SELECT version FROM machine_versions WHERE machine_id = $1 ORDER BY created_at DESC, version DESC LIMIT $2)`;

/** `sql` is that of a transaction where `setVersion` is called. */
export function createMachineConfigStore(sql: Sql): MachineConfigStore {
  return {
    async setVersion(id, { config, version, name, instance_id }, now_ms) {
      const text = JSON.stringify(config);
      await sql.run(
        `UPDATE machines SET config = $1, version = $2, name = $3, instance_id = $4, booted = 0, restored = 0, updated_at = $5,
           config_updated_at = $5 WHERE id = $6`,
        [text, version, name, instance_id, now_ms, id],
      );
      const insert = 'INSERT INTO machine_versions (machine_id, version, config, created_at) VALUES ($1, $2, $3, $4)';
      await sql.run(insert, [id, version, text, now_ms]);
      await sql.run(trim, [id, VERSIONS_KEPT]);
    },
    async listVersions(id) {
      const text = `SELECT version, config, created_at FROM machine_versions WHERE machine_id = $1
                    ORDER BY created_at DESC, version DESC`;
      const rows = await sql.all<Omit<StoredVersion, 'config'> & { readonly config: string }>(text, [id]);
      return rows.map((row) => ({ ...row, config: machineConfig.safeParse(parseJson(row.config)).data ?? {} }));
    },
    async setConfig(id, config, now_ms) {
      const text = 'UPDATE machines SET config = $1, updated_at = $2 WHERE id = $3';
      await sql.run(text, [JSON.stringify(config), now_ms, id]);
    },
    async clearRole(id) {
      await sql.run('UPDATE machines SET role = NULL WHERE id = $1', [id]);
    },
    async setCordoned(id, isCordoned, now_ms) {
      const text = 'UPDATE machines SET cordoned = $1, updated_at = $2 WHERE id = $3 AND cordoned <> $1';
      await sql.run(text, [isCordoned ? 1 : 0, now_ms, id]);
    },
    async takeLease(id, { nonce, owner, description, expires_at }, held, now_ms) {
      const text = `UPDATE machines
        SET lease_nonce = $1, lease_owner = $2, lease_description = $3, lease_expires_at = $4
        WHERE id = $5 AND (lease_nonce IS NULL OR lease_expires_at <= $6 OR lease_nonce = $7)`;
      return (await sql.run(text, [nonce, owner, description, expires_at, id, now_ms, held ?? ''])) > 0;
    },
    async dropLease(id, nonce) {
      const text = `UPDATE machines
        SET lease_nonce = NULL, lease_owner = NULL, lease_description = NULL, lease_expires_at = NULL
        WHERE id = $1 AND lease_nonce = $2`;
      return (await sql.run(text, [id, nonce])) > 0;
    },
    async isNameTaken(organization_id, app, name, except) {
      const text = 'SELECT id FROM machines WHERE organization_id = $1 AND app = $2 AND name = $3 AND id <> $4 LIMIT 1';
      return (await sql.one(text, [organization_id, app, name, except])) !== undefined;
    },
  };
}

/** A damaged version counts as an empty configuration. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
