// An extension as callers see it. No value of a variable is in it. Pure.
import type { ExtensionRecord } from '../../contract/extension-records.ts';
import { type ExtensionResource, extensionResource } from '../../contract/extension-webhooks.ts';
import { toDateTime } from '../../core/clock.ts';
import type { ExtensionRow } from './extension-row.ts';

export interface RecordSources {
  /** The slug. */
  readonly organization: string;
  /** Where the provider is called; undefined when that is not known here. */
  readonly base_url: string | undefined;
  /** Undefined for none. */
  readonly ip_address: string | undefined;
}

export function toExtensionRecord(
  row: ExtensionRow,
  { organization, base_url, ip_address }: RecordSources,
): ExtensionRecord {
  const { error } = row;
  return {
    id: row.id,
    name: row.name,
    provider: row.provider,
    organization,
    state: row.state,
    status: row.status,
    plan: row.plan,
    provider_id: row.provider_id,
    app: row.app,
    user_id: row.user_id,
    primary_region: row.primary_region,
    read_regions: [...row.read_regions],
    ip_address: ip_address ?? null,
    platform_app_name: row.platform_app_name,
    unrequested: row.unrequested,
    variables: [...row.variables],
    sso_url: base_url === undefined ? null : (toSsoUrl(row, base_url) ?? null),
    error: error === null ? null : { code: error.code, message: error.message, at: toDateTime(error.at) },
    created_at: toDateTime(row.created_at),
    updated_at: toDateTime(row.updated_at),
  };
}

/** Where a browser signs on (Extensions API, Provider endpoints); undefined for one that the provider has not named, or that is gone. */
export function toSsoUrl({ provider_id, state }: ExtensionRow, base_url: string): string | undefined {
  if (provider_id === null || state === 'deleting' || state === 'deleted') return undefined;
  return `${base_url}/extensions/${encodeURIComponent(provider_id)}/sso`;
}

/** The last word of the provider; undefined when there is none. */
export function toResource({ resource }: ExtensionRow): ExtensionResource | undefined {
  if (resource === null) return undefined;
  try {
    return extensionResource.safeParse(JSON.parse(resource)).data;
  } catch {
    return undefined;
  }
}
