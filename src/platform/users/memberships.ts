// Changes who is a member of which organization. The providers that want to know are told, in the same transaction.
import type { MemberNotice } from '../../contract/extension-notices.ts';
import type { UserRole } from '../../contract/sign-on.ts';
import { createNoticeOutbox } from '../machine-notices/notice-outbox.ts';
import type { Sql } from '../storage/storage.ts';
import { createUserStore } from './user-store.ts';

export interface Memberships {
  /** Makes the user a member, or gives it another role. */
  set(organization_id: string, user_id: string, role: UserRole): Promise<void>;
  /** False when the user was no member. */
  remove(organization_id: string, user_id: string): Promise<boolean>;
}

/** `sql` is that of a transaction. */
export function createMemberships(sql: Sql, now_ms: number): Memberships {
  const users = createUserStore(sql);
  const tell = (notice: MemberNotice) => createNoticeOutbox(sql).addOfMember(notice, now_ms);
  return {
    async set(organization_id, user_id, role) {
      const from = await users.roleIn(organization_id, user_id);
      if (from === role) return;
      await users.setRole(organization_id, user_id, role, now_ms);
      const who = { organization_id, user_id };
      if (from === undefined) await tell({ ...who, status: 'user_added', data: { role } });
      else await tell({ ...who, status: 'user_role_changed', data: { role, from } });
    },
    async remove(organization_id, user_id) {
      const role = await users.roleIn(organization_id, user_id);
      if (role === undefined || !(await users.removeMember(organization_id, user_id))) return false;
      await tell({ organization_id, user_id, status: 'user_removed', data: { role } });
      return true;
    },
  };
}
