// The operations of users: the operator makes them, and says of which organizations they are members.
import type { UserRecord, userOperations } from '../../contract/users.ts';
import { toDateTime } from '../../core/clock.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Principal } from '../tokens/principal.ts';
import type { UserService } from './user-service.ts';
import type { User, UserStore } from './user-store.ts';

export interface UserHandlerDeps {
  readonly users: UserStore;
  readonly userService: UserService;
}

const PAGE = 200;

export function createUserHandlers({
  users,
  userService,
}: UserHandlerDeps): Handlers<typeof userOperations, Principal> {
  async function toRecord({ created_at, ...user }: User): Promise<UserRecord> {
    const { id, name, email, email_alias } = user;
    const organizations = await users.listMemberships(id);
    return { id, name, email, email_alias, organizations: [...organizations], created_at: toDateTime(created_at) };
  }

  return {
    async listUsers({ query }) {
      const { organization, continuation_token: after = '' } = query;
      const organization_id =
        organization === undefined ? undefined : (await userService.findOrganization(organization)).id;
      const rows = await users.list({ organization_id, after, limit: PAGE + 1 });
      const page = rows.slice(0, PAGE);
      const last = page.at(-1);
      return {
        users: await Promise.all(page.map(toRecord)),
        ...(organization_id === undefined
          ? {}
          : { organization_alias: await users.organizationAlias(organization_id) }),
        ...(rows.length > page.length && last !== undefined ? { next_continuation_token: last.id } : {}),
      };
    },
    async createUser({ body }) {
      const { user, password } = await userService.create(body);
      return { user_id: user.id, email_alias: user.email_alias, password: password.reveal() };
    },
    readUser: async ({ params }) => await toRecord(await userService.find(params.user)),
    deleteUser: ({ params }) => userService.delete(params.user),
    async resetPassword({ params }) {
      const { user, password } = await userService.resetPassword(params.user);
      return { user_id: user.id, password: password.reveal() };
    },
    async setMember({ params, body }) {
      return await toRecord(await userService.setRole(params.user, params.organization, body.role));
    },
    removeMember: ({ params }) => userService.removeMember(params.user, params.organization),
  };
}
