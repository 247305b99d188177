// A connector as the Sandbox API shows it (Connection). The answer is parsed, which drops every field that the record does not name.
import { type AccessPolicy, accessPolicy } from '../../contract/access-policy.ts';
import { type Connection, connection } from '../../contract/connectors.ts';
import { toDateTime } from '../../core/clock.ts';
import type { CatalogueEntry } from '../catalogue/catalogue-entry.ts';
import type { ConnectorRow } from './records/connector-store.ts';
import { parseStoredPolicy } from './stored-policy.ts';
import { toUsageSnippet } from './usage-snippet.ts';

const ended = {
  title: 'Authorization ended',
  body: 'the provider renews it no more; send the user through `GET /v1/oauth/{provider}/authorize` again',
};

/** `entry` is undefined for a provider that has left the catalogue. */
export function toConnectionRecord(
  row: ConnectorRow,
  entry: CatalogueEntry | undefined,
  platformUrl: string,
): Connection {
  const notes = [...(row.authorization_ended_at === null ? [] : [ended]), ...(entry?.notes ?? [])];
  return connection.parse({
    id: row.id,
    name: row.name ?? undefined,
    provider: row.provider,
    provider_account_id: row.provider_account_id,
    provider_account_name: row.provider_account_name ?? undefined,
    connection_type: row.connection_type,
    scopes: row.scopes ?? undefined,
    user_id: row.user_id ?? undefined,
    ...(row.token_expires_at === null ? {} : { token_expires_at: toDateTime(row.token_expires_at) }),
    access_policy: toShownPolicy(row.access_policy),
    inserted_at: toDateTime(row.inserted_at),
    updated_at: toDateTime(row.updated_at),
    ...(entry === undefined
      ? {}
      : { usage_snippet: toUsageSnippet(toGatewayUrl(row, platformUrl) + entry.sample_path) }),
    ...(notes.length === 0 ? {} : { notes }),
    provider_info: {
      display_name: entry?.display_name ?? row.provider,
      ...(entry?.setup_url === undefined ? {} : { setup_url: entry.setup_url }),
      ...(row.base_api_url === null ? {} : { base_api_url: row.base_api_url }),
    },
  });
}

export function toGatewayUrl(row: ConnectorRow, platformUrl: string): string {
  return `${platformUrl}/v1/gateway/${row.provider}/${row.id}`;
}

/** Undefined for a policy that cannot be read; the gateway denies every call under it. */
function toShownPolicy(stored: string | null): AccessPolicy | undefined {
  const parsed = accessPolicy.safeParse(parseStoredPolicy(stored));
  return parsed.success ? parsed.data : undefined;
}
