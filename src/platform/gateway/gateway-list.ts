// The answer to GET /v1/gateway/list: the connectors that the caller may use, and the providers that could be set up.
import type { GatewayListResponse } from '../../contract/gateway.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { toGatewayUrl } from '../connectors/connector-record.ts';
import { listConnections } from '../connectors/list-connections.ts';
import type { ConnectorRow } from '../connectors/records/connector-store.ts';
import { toUsageSnippet } from '../connectors/usage-snippet.ts';

/** `usable`: the connectors that the caller may use. A provider that has left the catalogue is not listed. */
export async function toGatewayList(
  usable: readonly ConnectorRow[],
  catalogue: Catalogue,
  platformUrl: string,
): Promise<GatewayListResponse> {
  const listed = await listConnections(usable, (row) => {
    const entry = catalogue.find(row.provider);
    if (entry === undefined) return [];
    return [
      {
        id: row.id,
        ...(row.name === null ? {} : { name: row.name }),
        provider: row.provider,
        display_name: entry.display_name,
        description: entry.description,
        gateway_base_url: toGatewayUrl(row, platformUrl),
        usage_snippet: toUsageSnippet(toGatewayUrl(row, platformUrl) + entry.sample_path),
        ...(row.scopes === null ? {} : { scopes: row.scopes }),
        ...(row.connection_type === 'oauth'
          ? { request_scopes_url: `${platformUrl}/v1/oauth/${row.provider}/authorize` }
          : {}),
      },
    ];
  });
  const connections = listed.flat();
  const used = new Set(connections.map((connection) => connection.provider));
  const available = catalogue.entries
    .filter((entry) => !used.has(entry.provider))
    .map(({ provider, display_name, description, setup_url }) => ({
      provider,
      display_name,
      description,
      setup_url: setup_url ?? `${platformUrl}/v1/oauth/connections/api_key`,
    }));
  return { connections, available };
}
