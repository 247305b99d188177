// The user in whose name an extension is provisioned (Extensions API, Provisioning request).
import { refuseField } from '../../core/refuse-field.ts';
import type { Organization } from '../organizations/organization-store.ts';
import type { UserStore } from '../users/user-store.ts';
import type { ExtensionRow } from './extension-row.ts';

export type ProvisioningUser = Pick<ExtensionRow, 'user_id' | 'user_email' | 'user_role'>;

type Users = Pick<UserStore, 'find' | 'roleIn' | 'listMembers'>;

export interface UserChoice {
  /** The one that the caller names. */
  readonly named: string | undefined;
  /** The one that the token was made for. */
  readonly ofToken: string | null;
  /** The operator of the platform acts in the name of the admin who was made first where nobody is named. */
  readonly isOperator: boolean;
}

/** Throws `invalid_request` naming the field when there is none, or no member of the organization. */
export async function findProvisioningUser(
  users: Users,
  { id, slug }: Organization,
  { named, ofToken, isOperator }: UserChoice,
): Promise<ProvisioningUser> {
  const chosen = named ?? ofToken ?? (isOperator ? await findFirstAdmin(users, id) : undefined);
  if (chosen === undefined) {
    throw refuse('name a user of the organization; the token was made for nobody (--user at the command line)');
  }
  const [user, user_role] = await Promise.all([users.find(chosen), users.roleIn(id, chosen)]);
  if (user === undefined || user_role === undefined) throw refuse(`${chosen} is no user of the organization ${slug}`);
  return { user_id: user.id, user_email: user.email_alias, user_role };
}

async function findFirstAdmin(users: Users, organization_id: string): Promise<string | undefined> {
  const admins = (await users.listMembers(organization_id)).filter(({ role }) => role === 'admin');
  const [first] = admins.map(({ user }) => user).sort((one, other) => one.created_at - other.created_at);
  return first?.id;
}

function refuse(message: string) {
  return refuseField('body.user_id', message);
}
