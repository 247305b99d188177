// A provider of the catalogue as GET /v1/gateway/providers shows it to one caller. Pure.
import type { GatewayProvider } from '../../contract/gateway-discovery.ts';
import { GATEWAY_PREFIX } from '../../core/gateway/gateway-target.ts';
import type { CatalogueEntry } from '../catalogue/catalogue-entry.ts';
import type { ConnectorRow } from '../connectors/records/connector-store.ts';
import { toUsageSnippet } from '../connectors/usage-snippet.ts';
import { toPlace } from './dry-run.ts';

/** The providers of which this platform is an OAuth client, and those at which it makes keys. */
export interface WaysToConnect {
  readonly oauth: ReadonlySet<string>;
  readonly provision: ReadonlySet<string>;
}

/** `usable`: the connectors that the caller may use, of all providers. */
export function toProviderRecord(
  entry: CatalogueEntry,
  usable: readonly ConnectorRow[],
  ways: WaysToConnect,
  platformUrl: string,
): GatewayProvider {
  const { provider, display_name, description, docs_url, setup_url, notes } = entry;
  const base = `${platformUrl}${GATEWAY_PREFIX}${provider}/{connector_id}`;
  const connectors = usable.filter((row) => row.provider === provider).map(({ id }) => id);
  return {
    provider,
    display_name,
    description,
    gateway_base_url: base,
    provider_base_url: entry.address.type === 'fixed' ? entry.address.url : null,
    ...(docs_url === undefined ? {} : { docs_url }),
    ...(setup_url === undefined ? {} : { setup_url }),
    connect: [
      ...(entry.api_key ? ['api_key' as const] : []),
      ...(entry.oauth !== undefined && ways.oauth.has(provider) ? ['oauth' as const] : []),
      ...(ways.provision.has(provider) ? ['provision' as const] : []),
    ],
    ...(entry.oauth === undefined ? {} : { scopes: entry.oauth.scopes }),
    credential: toPlace(entry.injection),
    usage_snippet: toUsageSnippet(
      base.replace('{connector_id}', connectors[0] ?? '{connector_id}') + entry.sample_path,
    ),
    notes,
    connectors,
  };
}
