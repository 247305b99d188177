// Makes users with their first organization and their password, and changes both. Passwords are drawn here: nobody chooses a weak one.
import type { UserRole } from '../../contract/sign-on.ts';
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { Secret } from '../../core/secret.ts';
import { randomToken } from '../../core/urandom.ts';
import type { Organization, OrganizationStore } from '../organizations/organization-store.ts';
import type { Sql, Storage } from '../storage/storage.ts';
import { createMemberships } from './memberships.ts';
import type { Passwords } from './passwords.ts';
import { createUserStore, type User, type UserStore } from './user-store.ts';

export interface NewMember {
  readonly email: string;
  readonly name: string;
  /** The slug. */
  readonly organization: string;
  readonly role: UserRole;
}

export interface UserWithPassword {
  readonly user: User;
  /** The text is not stored: it can be shown only now. */
  readonly password: Secret;
}

/** Everything throws `not_found` for a user or an organization that is not there. */
export interface UserService {
  /** Throws `already_exists` for a taken email address. */
  create(member: NewMember): Promise<UserWithPassword>;
  /** `idOrEmail`: the id or the email address. */
  find(idOrEmail: string): Promise<User>;
  delete(idOrEmail: string): Promise<void>;
  resetPassword(idOrEmail: string): Promise<UserWithPassword>;
  setRole(idOrEmail: string, organization: string, role: UserRole): Promise<User>;
  /** Throws `not_found` also when the user is no member. */
  removeMember(idOrEmail: string, organization: string): Promise<void>;
  findOrganization(slug: string): Promise<Organization>;
}

export interface UserServiceDeps {
  readonly storage: Storage;
  readonly organizations: Pick<OrganizationStore, 'findBySlug'>;
  readonly passwords: Passwords;
  readonly clock: Clock;
  /** Runs inside the transaction that ends a membership or a password: what hangs on it ends there. */
  readonly onEnd: (sql: Sql, user: User, what: 'membership' | 'password') => Promise<void>;
}

const PASSWORD_BYTES = 15;

export function createUserService(deps: UserServiceDeps): UserService {
  const { storage, passwords, clock, onEnd } = deps;
  const users = createUserStore(storage);

  async function findIn(store: UserStore, idOrEmail: string): Promise<User> {
    const found = idOrEmail.includes('@') ? await store.findByEmail(idOrEmail) : await store.find(idOrEmail);
    if (found === undefined) throw new RemoraError('not_found', `there is no user ${idOrEmail}`);
    return found;
  }

  async function findOrganization(slug: string): Promise<Organization> {
    const found = await deps.organizations.findBySlug(slug);
    if (found === undefined) throw new RemoraError('not_found', `there is no organization ${slug}`);
    return found;
  }

  async function drawPassword(): Promise<{ readonly password: Secret; readonly password_hash: string }> {
    const password = new Secret(randomToken(PASSWORD_BYTES));
    return { password, password_hash: await passwords.hash(password) };
  }

  return {
    find: (idOrEmail) => findIn(users, idOrEmail),
    findOrganization,
    async create({ email, name, organization, role }) {
      const { id } = await findOrganization(organization);
      const { password, password_hash } = await drawPassword();
      const user = await storage.transaction(async (sql) => {
        const store = createUserStore(sql);
        const made = await store.create({ email, name, password_hash }, clock.wall_ms());
        await createMemberships(sql, clock.wall_ms()).set(id, made.id, role);
        return made;
      });
      return { user, password };
    },
    async delete(idOrEmail) {
      await storage.transaction(async (sql) => {
        const store = createUserStore(sql);
        const { id } = await findIn(store, idOrEmail);
        const memberships = createMemberships(sql, clock.wall_ms());
        for (const { organization_id } of await store.listMemberships(id))
          await memberships.remove(organization_id, id);
        await store.delete(id);
      });
    },
    async resetPassword(idOrEmail) {
      const user = await findIn(users, idOrEmail);
      const { password, password_hash } = await drawPassword();
      await storage.transaction(async (sql) => {
        await createUserStore(sql).setPasswordHash(user.id, password_hash);
        await onEnd(sql, user, 'password');
      });
      return { user, password };
    },
    async setRole(idOrEmail, organization, role) {
      const user = await findIn(users, idOrEmail);
      const { id } = await findOrganization(organization);
      await storage.transaction((sql) => createMemberships(sql, clock.wall_ms()).set(id, user.id, role));
      return user;
    },
    async removeMember(idOrEmail, organization) {
      const user = await findIn(users, idOrEmail);
      const { id } = await findOrganization(organization);
      await storage.transaction(async (sql) => {
        if (!(await createMemberships(sql, clock.wall_ms()).remove(id, user.id))) {
          throw new RemoraError('not_found', `${idOrEmail} is no member of ${organization}`);
        }
        await onEnd(sql, user, 'membership');
      });
    },
  };
}
