// A new extension, which its provider is still to be asked for. Pure but for its id.
import { randomHex } from '../../core/urandom.ts';
import { type ExtensionRow, ID_PREFIX } from './extension-row.ts';

const ID_BYTES = 10;

type NewRow = Pick<
  ExtensionRow,
  | 'organization_id'
  | 'provider'
  | 'name'
  | 'app'
  | 'user_id'
  | 'user_email'
  | 'user_role'
  | 'primary_region'
  | 'read_regions'
>;

/** A row that is to be provisioned. */
export function toNewRow(now_ms: number, given: NewRow): ExtensionRow {
  return {
    ...given,
    id: `${ID_PREFIX}${randomHex(ID_BYTES)}`,
    provider_id: null,
    platform_app_name: null,
    unrequested: false,
    state: 'requested',
    status: null,
    plan: null,
    resource: null,
    variables: [],
    config: null,
    error: null,
    step: 'provision',
    due_at: now_ms,
    claim: null,
    claim_until: null,
    asked: false,
    tries: 0,
    revision: 0,
    told_revision: 0,
    begun_at: now_ms,
    trouble_since: null,
    told_at: 0,
    heard_at: 0,
    created_at: now_ms,
    updated_at: now_ms,
  };
}
