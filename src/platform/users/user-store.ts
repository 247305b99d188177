// The users, their membership in organizations, and the aliases under which mail reaches them (Extensions API, What the service does).
import type { UserRole } from '../../contract/sign-on.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { randomHex } from '../../core/urandom.ts';
import type { Sql } from '../storage/storage.ts';

export interface User {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  /** The address that providers get; never changes. */
  readonly email_alias: string;
  readonly created_at: number;
}

export interface Member {
  readonly user: User;
  readonly role: UserRole;
}

export interface Membership {
  readonly organization_id: string;
  /** The slug. */
  readonly organization: string;
  readonly role: UserRole;
}

export interface NewUser {
  readonly name: string;
  readonly email: string;
  /** What `Passwords.hash` returns. */
  readonly password_hash: string;
}

/** Whom mail to an alias reaches. */
export type AliasOwner =
  | { readonly kind: 'user'; readonly user: User }
  | { readonly kind: 'organization'; readonly organization_id: string };

export interface UserPage {
  /** The id of an organization; absent = users of all, and those of none. */
  readonly organization_id?: string | undefined;
  readonly after: string;
  readonly limit: number;
}

export interface UserStore {
  find(id: string): Promise<User | undefined>;
  /** Case does not count. */
  findByEmail(email: string): Promise<User | undefined>;
  /** Undefined when the alias belongs to nobody, or to a user who is in no organization any more. */
  findByAlias(alias: string): Promise<AliasOwner | undefined>;
  /** Sorted by id. */
  list(page: UserPage): Promise<readonly User[]>;
  /** Throws `already_exists` for a taken email address. */
  create(user: NewUser, now_ms: number): Promise<User>;
  /** False when there is no such user. */
  delete(id: string): Promise<boolean>;
  /** Undefined when there is no such user. */
  readPasswordHash(id: string): Promise<string | undefined>;
  setPasswordHash(id: string, password_hash: string): Promise<void>;
  roleIn(organization_id: string, user_id: string): Promise<UserRole | undefined>;
  /** Sorted by the id of the user. */
  listMembers(organization_id: string): Promise<readonly Member[]>;
  /** Sorted by the slug of the organization. */
  listMemberships(user_id: string): Promise<readonly Membership[]>;
  setRole(organization_id: string, user_id: string, role: UserRole, now_ms: number): Promise<void>;
  /** False when the user was no member. */
  removeMember(organization_id: string, user_id: string): Promise<boolean>;
  /** The address that reaches the admins of an organization. It is made when it is asked for first, and never changes. */
  organizationAlias(organization_id: string): Promise<string>;
  /** The domain of aliases to come. */
  aliasDomain(): Promise<string>;
  /** Aliases that were made before keep theirs. */
  setAliasDomain(domain: string): Promise<void>;
  /** How many aliases of users and organizations have another domain. */
  countAliasesElsewhere(domain: string): Promise<number>;
}

/** Reserved by RFC 2606: mail to such an alias goes nowhere, which is so until the platform takes mail. */
const NO_DOMAIN = 'users.invalid';
const ALIAS_BYTES = 10;
const columns = 'u.id, u.name, u.email, u.email_alias, u.created_at';

export function createUserStore(sql: Sql): UserStore {
  const findBy = (condition: string, value: string) =>
    sql.one<User>(`SELECT ${columns} FROM users u WHERE ${condition}`, [value]);

  async function aliasDomain(): Promise<string> {
    return (await sql.one<{ domain: string }>('SELECT domain FROM alias_domain'))?.domain ?? NO_DOMAIN;
  }

  return {
    find: (id) => findBy('u.id = $1', id),
    findByEmail: (email) => findBy('u.email_key = $1', toEmailKey(email)),
    async findByAlias(alias) {
      const user = await findBy(
        'u.email_alias = $1 AND EXISTS (SELECT 1 FROM members m WHERE m.user_id = u.id)',
        toEmailKey(alias),
      );
      if (user !== undefined) return { kind: 'user', user };
      const text = 'SELECT organization_id FROM organization_aliases WHERE alias = $1';
      const found = await sql.one<{ organization_id: string }>(text, [toEmailKey(alias)]);
      return found === undefined ? undefined : { kind: 'organization', ...found };
    },
    list: ({ organization_id, after, limit }) =>
      organization_id === undefined
        ? sql.all<User>(`SELECT ${columns} FROM users u WHERE u.id > $1 ORDER BY u.id LIMIT $2`, [after, limit])
        : sql.all<User>(
            `SELECT ${columns} FROM members m JOIN users u ON u.id = m.user_id
             WHERE m.organization_id = $1 AND u.id > $2 ORDER BY u.id LIMIT $3`,
            [organization_id, after, limit],
          ),
    async create({ name, email, password_hash }, now_ms) {
      const id = `user_${randomHex(10)}`;
      const email_alias = toAlias('u', await aliasDomain());
      const made = await sql.run(
        `INSERT INTO users (id, name, email, email_key, email_alias, password_hash, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (email_key) DO NOTHING`,
        [id, name, email, toEmailKey(email), email_alias, password_hash, now_ms],
      );
      if (made === 0) throw new RemoraError('already_exists', `there is a user ${email} already`);
      return { id, name, email, email_alias, created_at: now_ms };
    },
    delete: async (id) => (await sql.run('DELETE FROM users WHERE id = $1', [id])) > 0,
    readPasswordHash: async (id) =>
      (await sql.one<{ password_hash: string }>('SELECT password_hash FROM users WHERE id = $1', [id]))?.password_hash,
    async setPasswordHash(id, password_hash) {
      await sql.run('UPDATE users SET password_hash = $1 WHERE id = $2', [password_hash, id]);
    },
    async roleIn(organization_id, user_id) {
      const text = 'SELECT role FROM members WHERE organization_id = $1 AND user_id = $2';
      const found = await sql.one<{ role: string }>(text, [organization_id, user_id]);
      return found === undefined ? undefined : parseRole(found.role);
    },
    async listMembers(organization_id) {
      const rows = await sql.all<User & { role: string }>(
        `SELECT ${columns}, m.role FROM members m JOIN users u ON u.id = m.user_id
         WHERE m.organization_id = $1 ORDER BY u.id`,
        [organization_id],
      );
      return rows.map(({ role, ...user }) => ({ user, role: parseRole(role) }));
    },
    async listMemberships(user_id) {
      const rows = await sql.all<Omit<Membership, 'role'> & { role: string }>(
        `SELECT m.organization_id, o.slug AS organization, m.role FROM members m
         JOIN organizations o ON o.id = m.organization_id WHERE m.user_id = $1 ORDER BY o.slug`,
        [user_id],
      );
      return rows.map((row) => ({ ...row, role: parseRole(row.role) }));
    },
    async setRole(organization_id, user_id, role, now_ms) {
      await sql.run(
        `INSERT INTO members (organization_id, user_id, role, created_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (organization_id, user_id) DO UPDATE SET role = excluded.role`,
        [organization_id, user_id, role, now_ms],
      );
    },
    async removeMember(organization_id, user_id) {
      const text = 'DELETE FROM members WHERE organization_id = $1 AND user_id = $2';
      return (await sql.run(text, [organization_id, user_id])) > 0;
    },
    async organizationAlias(organization_id) {
      const text = 'SELECT alias FROM organization_aliases WHERE organization_id = $1';
      const read = async () => (await sql.one<{ alias: string }>(text, [organization_id]))?.alias;
      const known = await read();
      if (known !== undefined) return known;
      const alias = toAlias('o', await aliasDomain());
      await sql.run(
        'INSERT INTO organization_aliases (organization_id, alias) VALUES ($1, $2) ON CONFLICT DO NOTHING',
        [organization_id, alias],
      );
      return (await read()) ?? alias;
    },
    aliasDomain,
    async setAliasDomain(domain) {
      await sql.run(
        `INSERT INTO alias_domain (only_row, domain) VALUES (1, $1)
         ON CONFLICT (only_row) DO UPDATE SET domain = excluded.domain`,
        [toEmailKey(domain)],
      );
    },
    async countAliasesElsewhere(domain) {
      const text = `SELECT (SELECT count(*) FROM users WHERE email_alias NOT LIKE $1)
        + (SELECT count(*) FROM organization_aliases WHERE alias NOT LIKE $1) AS count`;
      return (await sql.one<{ count: number }>(text, [`%@${toEmailKey(domain)}`]))?.count ?? 0;
    },
  };
}

function toAlias(kind: 'u' | 'o', domain: string): string {
  return `${kind}-${randomHex(ALIAS_BYTES)}@${domain}`;
}

/**
 * Addresses are compared without regard to case, as every large mail service does. Only ASCII has case here: to Unicode the Kelvin sign is a
 * large K, and who has that address would be taken for somebody else.
 */
function toEmailKey(email: string): string {
  return email.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** A role that cannot be read counts as `member`, the lesser one. */
function parseRole(stored: string): UserRole {
  return stored === 'admin' ? 'admin' : 'member';
}
