// One extension as the database has it.
import { z } from 'zod';
import { type ExtensionState, extensionState } from '../../contract/extension-records.ts';
import { type UserRole, userRole } from '../../contract/sign-on.ts';
import type { ClosedSecret } from '../vault/vault.ts';

/** What the provider is asked next. `provision`, `read`, `update` and `delete` are the requests of the same meaning. */
export const extensionStep = z.enum(['provision', 'read', 'update', 'delete']);
export type ExtensionStep = z.infer<typeof extensionStep>;

export const ID_PREFIX = 'ext_';

export interface ExtensionRow {
  readonly id: string;
  readonly organization_id: string;
  readonly provider: string;
  readonly name: string;
  /** Null until the provider has said it. */
  readonly provider_id: string | null;
  readonly app: string | null;
  readonly user_id: string | null;
  readonly user_email: string;
  readonly user_role: UserRole;
  readonly primary_region: string | null;
  readonly read_regions: readonly string[];
  readonly platform_app_name: string | null;
  readonly unrequested: boolean;
  readonly state: ExtensionState;
  /** The provider's last word. */
  readonly status: string | null;
  readonly plan: string | null;
  /** The resource as the provider told it last, as JSON. */
  readonly resource: string | null;
  /** The names in `config`. */
  readonly variables: readonly string[];
  /** The variables with their values, as JSON; null until the provider has said them. */
  readonly config: ClosedSecret | null;
  readonly error: { readonly code: string; readonly message: string; readonly at: number } | null;
  /** The intent that is carried out, with the time from which it is due; null when there is nothing to do. */
  readonly step: ExtensionStep | null;
  readonly due_at: number | null;
  /** Who is asking the provider now; nobody else does until it ends. */
  readonly claim: string | null;
  readonly claim_until: number | null;
  /** Whether a provisioning request may have reached the provider. */
  readonly asked: boolean;
  /** How often the step was tried in a row. */
  readonly tries: number;
  /** Goes up with each change that the provider must be told. */
  readonly revision: number;
  /** The revision that the provider was told last. */
  readonly told_revision: number;
  /** When the step was begun. */
  readonly begun_at: number;
  /** The begin of the time in which the provider cannot be reached; null while it can be. */
  readonly trouble_since: number | null;
  /** The newest time that a webhook of it had, by the clock of the provider. */
  readonly told_at: number;
  /** When a webhook was applied last, by the clock of the platform. */
  readonly heard_at: number;
  readonly created_at: number;
  readonly updated_at: number;
}

export interface StoredExtension
  extends Omit<
    ExtensionRow,
    'state' | 'user_role' | 'read_regions' | 'variables' | 'config' | 'error' | 'step' | 'unrequested' | 'asked'
  > {
  readonly state: string;
  readonly user_role: string;
  readonly read_regions: string;
  readonly variables: string;
  readonly key_id: string | null;
  readonly data_key: Buffer | null;
  readonly secret: Buffer | null;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly error_at: number | null;
  readonly step: string | null;
  readonly unrequested: number;
  readonly asked: number;
}

const texts = z.array(z.string());

/** A field that is damaged takes the value that does least: no role but that of a member, nothing to do, `failed`. */
export function parseExtensionRow(stored: StoredExtension): ExtensionRow {
  const { key_id, data_key, secret, error_code, error_message, error_at, ...rest } = stored;
  const isClosed = key_id !== null && data_key !== null && secret !== null;
  return {
    ...rest,
    state: extensionState.safeParse(stored.state).data ?? 'failed',
    user_role: userRole.safeParse(stored.user_role).data ?? 'member',
    read_regions: toTexts(stored.read_regions),
    variables: toTexts(stored.variables),
    config: isClosed ? { key_id, data_key, secret } : null,
    error: error_code === null ? null : { code: error_code, message: error_message ?? '', at: error_at ?? 0 },
    step: extensionStep.safeParse(stored.step).data ?? null,
    unrequested: stored.unrequested !== 0,
    asked: stored.asked !== 0,
  };
}

function toTexts(json: string): readonly string[] {
  try {
    return texts.safeParse(JSON.parse(json)).data ?? [];
  } catch {
    return [];
  }
}
