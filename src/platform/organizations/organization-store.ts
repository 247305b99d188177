// The organizations, which own sprites, connectors and machines.
import { RemoraError } from '../../core/remora-error.ts';
import { randomHex } from '../../core/urandom.ts';
import type { Sql } from '../storage/storage.ts';

export interface Organization {
  readonly id: string;
  readonly slug: string;
  /** The name that providers of extensions show; null = the slug. */
  readonly display_name: string | null;
  /** How many sprites may be running or warm at once; null = no limit. */
  readonly running_limit: number | null;
  readonly warm_limit: number | null;
  /** How many sprites may be created in a minute; null = as many as the platform lets each organization. */
  readonly creation_limit: number | null;
}

export interface OrganizationStore {
  /** Makes no app, see `createOrganization`. Throws `invalid_request` for a malformed slug and `already_exists` for a taken one. */
  create(slug: string, now_ms: number): Promise<Organization>;
  find(id: string): Promise<Organization | undefined>;
  findBySlug(slug: string): Promise<Organization | undefined>;
  /** Sorted by slug. */
  list(): Promise<readonly Organization[]>;
  /** A limit that is not named stays; null = none of its own. Throws `not_found`. */
  setLimits(id: string, limits: Partial<OrganizationLimits>): Promise<Organization>;
  /** Null takes it away. Throws `not_found`. */
  setDisplayName(id: string, display_name: string | null): Promise<Organization>;
  /**
   * Deletes the organization with its apps, tokens, begun authorizations and usage; only inside a transaction. Throws `conflict` when it has
   * a sprite or a connector, and `not_found`.
   */
  delete(id: string): Promise<void>;
}

export type OrganizationLimits = Pick<Organization, 'running_limit' | 'warm_limit' | 'creation_limit'>;

const SLUG = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
/** The names of apps are served below it (DECISIONS.md, "Host names"). */
const APPS_LABEL = 'apps';
const columns = 'id, slug, display_name, running_limit, warm_limit, creation_limit';

/** What goes with an organization. */
const owned = [
  'tokens',
  'members',
  'organization_aliases',
  'oauth_states',
  'gateway_usage',
  'machine_usage',
  'volume_usage',
  'destroyed_machines',
  'apps',
] as const;
const isUsed = `
SELECT EXISTS (SELECT 1 FROM sprites WHERE organization_id = $1)
    OR EXISTS (SELECT 1 FROM volumes WHERE organization_id = $1)
    OR EXISTS (SELECT 1 FROM connectors WHERE organization_id = $1) AS used`;

export function createOrganizationStore(sql: Sql): OrganizationStore {
  return {
    async create(slug, now_ms) {
      if (!SLUG.test(slug) || slug === APPS_LABEL) {
        throw new RemoraError('invalid_request', `${JSON.stringify(slug)} cannot be the slug of an organization`);
      }
      const id = `org_${randomHex(10)}`;
      const made = await sql.run(
        'INSERT INTO organizations (id, slug, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
        [id, slug, now_ms],
      );
      if (made === 0) throw new RemoraError('already_exists', `there is an organization ${slug} already`);
      return { id, slug, display_name: null, running_limit: null, warm_limit: null, creation_limit: null };
    },
    find: (id) => sql.one<Organization>(`SELECT ${columns} FROM organizations WHERE id = $1`, [id]),
    findBySlug: (slug) => sql.one<Organization>(`SELECT ${columns} FROM organizations WHERE slug = $1`, [slug]),
    list: () => sql.all<Organization>(`SELECT ${columns} FROM organizations ORDER BY slug`),
    async setLimits(id, { running_limit, warm_limit, creation_limit }) {
      const changed = await sql.one<Organization>(
        `UPDATE organizations SET running_limit = CASE WHEN $1 = 1 THEN $2 ELSE running_limit END,
           warm_limit = CASE WHEN $3 = 1 THEN $4 ELSE warm_limit END,
           creation_limit = CASE WHEN $5 = 1 THEN $6 ELSE creation_limit END
         WHERE id = $7 RETURNING ${columns}`,
        [
          Number(running_limit !== undefined),
          running_limit ?? null,
          Number(warm_limit !== undefined),
          warm_limit ?? null,
          Number(creation_limit !== undefined),
          creation_limit ?? null,
          id,
        ],
      );
      if (changed === undefined) throw new RemoraError('not_found', 'there is no such organization');
      return changed;
    },
    async setDisplayName(id, display_name) {
      const text = `UPDATE organizations SET display_name = $1 WHERE id = $2 RETURNING ${columns}`;
      const changed = await sql.one<Organization>(text, [display_name, id]);
      if (changed === undefined) throw new RemoraError('not_found', 'there is no such organization');
      return changed;
    },
    async delete(id) {
      const { used } = (await sql.one<{ used: boolean | number }>(isUsed, [id])) ?? { used: false };
      if (used) throw new RemoraError('conflict', 'the organization got a sprite or a connector meanwhile');
      for (const table of owned) await sql.run(`DELETE FROM ${table} WHERE organization_id = $1`, [id]);
      if ((await sql.run('DELETE FROM organizations WHERE id = $1', [id])) > 0) return;
      throw new RemoraError('not_found', 'there is no such organization');
    },
  };
}
