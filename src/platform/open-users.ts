// The users of a platform, wired: the same for one that runs and for the database of one that does not.
import type { Clock } from '../core/clock.ts';
import type { OrganizationStore } from './organizations/organization-store.ts';
import { endSignOnsOf, endSignOnsWithoutMembership } from './sign-on/sign-on-store.ts';
import type { Storage } from './storage/storage.ts';
import { createPasswords, type PasswordCost, type Passwords } from './users/passwords.ts';
import { createUserService, type UserService } from './users/user-service.ts';
import { createUserStore, type UserStore } from './users/user-store.ts';

export interface UserParts {
  readonly users: UserStore;
  readonly userService: UserService;
  readonly passwords: Passwords;
}

export interface UserPartsDeps {
  readonly storage: Storage;
  readonly organizations: OrganizationStore;
  readonly clock: Clock;
  readonly passwordCost?: PasswordCost | undefined;
}

export function openUsers(deps: UserPartsDeps): UserParts {
  const passwords = createPasswords(deps.passwordCost);
  const userService = createUserService({
    ...deps,
    passwords,
    onEnd: (sql, { id }, what) => (what === 'password' ? endSignOnsOf(sql, id) : endSignOnsWithoutMembership(sql, id)),
  });
  return { users: createUserStore(deps.storage), userService, passwords };
}
