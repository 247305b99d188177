// `remora user …`: each function is one command.
import { type UserRole, userRole } from '../../contract/sign-on.ts';
import type { UserRecord } from '../../contract/users.ts';
import type { Invocation } from '../command.ts';
import { UsageError } from '../exit-code.ts';
import { askPlatform, type PlatformClient } from '../target/platform-client.ts';
import { print, toWhen } from './print.ts';

export async function listUsers(invocation: Invocation): Promise<number> {
  const { users, organization_alias } = await askPlatform(invocation, (client) =>
    readAll(client, invocation.text('organization')),
  );
  const code = print(invocation, { users, organization_alias }, [
    ['ID', 'NAME', 'EMAIL', 'ALIAS', 'ORGANIZATIONS', 'CREATED'],
    ...users.map(({ id, name, email, email_alias, organizations, created_at }) => [
      id,
      name,
      email,
      email_alias,
      organizations.map(({ organization, role }) => `${organization} (${role})`).join(', ') || '-',
      toWhen(created_at),
    ]),
  ]);
  if (organization_alias !== undefined && !invocation.has('json')) {
    invocation.out.line(`mail to ${organization_alias} reaches its admins`);
  }
  return code;
}

async function readAll(client: PlatformClient, organization: string | undefined) {
  const all: UserRecord[] = [];
  let organization_alias: string | undefined;
  let continuation_token: string | undefined;
  do {
    const page = await client.call('listUsers', { query: { organization, continuation_token } });
    all.push(...page.users);
    organization_alias = page.organization_alias;
    continuation_token = page.next_continuation_token;
  } while (continuation_token !== undefined);
  return { users: all, organization_alias };
}

/** Prints nothing but the password to standard output when there is no --json, so that it can be redirected to a file. */
export async function createUser(invocation: Invocation): Promise<number> {
  const [email = ''] = invocation.operands;
  const name = invocation.text('name') ?? email.split('@')[0] ?? email;
  const body = { email, name, organization: toOrganization(invocation), role: toRole(invocation) };
  const made = await askPlatform(invocation, (client) => client.call('createUser', { body }));
  return print(invocation, made, [[made.password]]);
}

export async function setRole(invocation: Invocation): Promise<number> {
  const [user = ''] = invocation.operands;
  const params = { user, organization: toOrganization(invocation) };
  const body = { role: toRole(invocation) };
  const changed = await askPlatform(invocation, (client) => client.call('setMember', { params, body }));
  return print(invocation, changed, [[changed.email, params.organization, body.role]]);
}

export async function removeMember(invocation: Invocation): Promise<number> {
  const [user = ''] = invocation.operands;
  const params = { user, organization: toOrganization(invocation) };
  await askPlatform(invocation, (client) => client.call('removeMember', { params }));
  const line = `${user} is no member of ${params.organization} any more`;
  return print(invocation, { removed: user, organization: params.organization }, [[line]]);
}

export async function resetPassword(invocation: Invocation): Promise<number> {
  const [user = ''] = invocation.operands;
  const changed = await askPlatform(invocation, (client) => client.call('resetPassword', { params: { user } }));
  return print(invocation, changed, [[changed.password]]);
}

export async function deleteUser(invocation: Invocation): Promise<number> {
  const [user = ''] = invocation.operands;
  await askPlatform(invocation, (client) => client.call('deleteUser', { params: { user } }));
  return print(invocation, { deleted: user }, [[`${user} is deleted`]]);
}

function toOrganization({ text }: Invocation): string {
  const organization = text('organization');
  if (organization === undefined) throw new UsageError('say which organization: --organization NAME');
  return organization;
}

function toRole({ text }: Invocation): UserRole {
  const given = text('role') ?? 'member';
  const role = userRole.safeParse(given);
  if (!role.success) throw new UsageError(`--role takes admin or member, not ${given}`);
  return role.data;
}
