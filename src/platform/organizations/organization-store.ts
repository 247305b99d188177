// The organizations: who owns sprites, connectors and machines.
import { RemoraError } from '../../core/remora-error.ts';
import { randomHex } from '../../core/urandom.ts';
import type { Sqlite } from '../../sqlite/open.ts';

export interface Organization {
  readonly id: string;
  readonly slug: string;
  /** How many sprites may be running or warm at once; null = no limit. */
  readonly running_limit: number | null;
  readonly warm_limit: number | null;
}

export interface OrganizationStore {
  /** Throws `invalid_request` for a malformed slug and `already_exists` for a taken one. */
  create(slug: string, now_ms: number): Organization;
  find(id: string): Organization | undefined;
  findBySlug(slug: string): Organization | undefined;
  /** By slug. */
  list(): readonly Organization[];
  /** What is not named stays; null = no limit. Throws `not_found`. */
  setLimits(id: string, limits: Partial<OrganizationLimits>): Organization;
}

export type OrganizationLimits = Pick<Organization, 'running_limit' | 'warm_limit'>;

const SLUG = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const columns = 'id, slug, running_limit, warm_limit';

export function createOrganizationStore(db: Sqlite): OrganizationStore {
  const insert = db.prepare<[string, string, number]>(
    'INSERT INTO organizations (id, slug, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const byId = db.prepare<[string], Organization>(`SELECT ${columns} FROM organizations WHERE id = ?`);
  const bySlug = db.prepare<[string], Organization>(`SELECT ${columns} FROM organizations WHERE slug = ?`);
  const all = db.prepare<[], Organization>(`SELECT ${columns} FROM organizations ORDER BY slug`);
  const limits = db.prepare<[number | null, number | null, string]>(
    'UPDATE organizations SET running_limit = ?, warm_limit = ? WHERE id = ?',
  );
  return {
    create(slug, now_ms) {
      if (!SLUG.test(slug)) {
        throw new RemoraError('invalid_request', `${JSON.stringify(slug)} cannot be the slug of an organization`);
      }
      const id = `org_${randomHex(10)}`;
      if (insert.run(id, slug, now_ms).changes === 0) {
        throw new RemoraError('already_exists', `there is an organization ${slug} already`);
      }
      return { id, slug, running_limit: null, warm_limit: null };
    },
    find: (id) => byId.get(id),
    findBySlug: (slug) => bySlug.get(slug),
    list: () => all.all(),
    setLimits(id, given) {
      const known = byId.get(id);
      if (known === undefined) throw new RemoraError('not_found', 'there is no such organization');
      const { running_limit, warm_limit } = { ...known, ...given };
      limits.run(running_limit, warm_limit, id);
      return { ...known, running_limit, warm_limit };
    },
  };
}
