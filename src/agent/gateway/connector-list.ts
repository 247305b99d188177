// Builds the answer of `GET /v1/gateway/list`: the connectors that this sprite may use, with addresses and command lines that work
// inside this machine.
import type { Connection } from '../../contract/connectors.ts';
import type { GatewayConnection } from '../../contract/gateway.ts';
import type { LocalConnection, LocalListResponse } from '../../contract/local/gateway.ts';
import { decide, isGranted } from '../../core/gateway/access-policy.ts';
import { GATEWAY_PREFIX } from '../../core/gateway/gateway-target.ts';
import type { PolicyConnector, PolicySnapshot } from './policies/policy-snapshot.ts';
import { parseSamplePath } from './sample-path.ts';
import { toSnippets } from './snippets.ts';

export interface LocalAddress {
  /** Path of the socket that the command lines use. */
  readonly socket: string;
  /** `host:port` of the loopback listener, if there is one. */
  readonly tcp: string | undefined;
}

/** The socket accepts any Host; this one names the program that answers. */
export const SOCKET_ORIGIN = 'http://remora';

export function toConnectorList({ document, connectors }: PolicySnapshot, local: LocalAddress): LocalListResponse {
  const described = new Map(document.list?.connections.map((item) => [item.id, item]));
  const connections: LocalConnection[] = [];
  for (const [id, connector] of connectors) {
    if (!isGranted(connector.policy, document.sprite)) continue;
    const sample = toSample(connector, document.sprite, described.get(id));
    connections.push(toRow(connector.connection, described.get(id), local, sample));
  }
  return { connections, available: document.list?.available ?? [] };
}

function toRow(
  connection: Connection,
  described: GatewayConnection | undefined,
  local: LocalAddress,
  sample: string,
): LocalConnection {
  const { id, name, provider, scopes } = connection;
  const path = `${GATEWAY_PREFIX}${provider}/${id}`;
  const base = SOCKET_ORIGIN + path;
  const snippets = toSnippets(local.socket, base + sample);
  const { description, request_scopes_url } = described ?? {};
  return {
    id,
    ...(name === undefined ? {} : { name }),
    provider,
    display_name: described?.display_name ?? connection.provider_account_name ?? provider,
    gateway_base_url: base,
    base_urls: { socket: base, tcp: local.tcp === undefined ? null : `http://${local.tcp}${path}` },
    usage_snippet: snippets.curl,
    snippets,
    ...(description === undefined ? {} : { description }),
    ...(scopes === undefined ? {} : { scopes }),
    ...(request_scopes_url === undefined ? {} : { request_scopes_url }),
  };
}

/** Copies the platform's record, with a command line that works inside this machine. */
export function toLocalRecord(snapshot: PolicySnapshot, connector: PolicyConnector, local: LocalAddress): Connection {
  const { connection } = connector;
  if (connection.usage_snippet === undefined) return connection;
  const described = snapshot.document.list?.connections.find(({ id }) => id === connection.id);
  const sample = toSample(connector, snapshot.document.sprite, described);
  const url = `${SOCKET_ORIGIN}${GATEWAY_PREFIX}${connection.provider}/${connection.id}${sample}`;
  return { ...connection, usage_snippet: toSnippets(local.socket, url).curl };
}

/** How many rules are tried for each connector. A policy may have hundreds, and the list is built for all connectors. */
const RULES_TRIED = 4;

/** The path under which most providers list their models. */
const COMMON_SAMPLE = '/v1/models';

/**
 * Chooses a path that the policy allows, for the command line: the first of those that the policy names and those of the platform's
 * own command line, which knows the provider.
 */
function toSample(
  { connection, policy }: PolicyConnector,
  sprite: PolicySnapshot['document']['sprite'],
  described: GatewayConnection | undefined,
): string {
  const rules = (connection.access_policy?.allowed_endpoints ?? []).filter((rule) => rule.startsWith('/'));
  const exact = rules.filter((rule) => !rule.endsWith('*')).slice(0, RULES_TRIED);
  const prefixes = rules.filter((rule) => rule.endsWith('*')).map((rule) => rule.slice(0, -1));
  const candidates = [...exact, ...prefixes.slice(0, RULES_TRIED), ...toSamples(described), COMMON_SAMPLE];
  return candidates.find((path) => decide(policy, sprite, path).type === 'allow') ?? COMMON_SAMPLE;
}

/** The path that follows the connector's address in the platform's command line. */
function toSamples(described: GatewayConnection | undefined): readonly string[] {
  if (described?.usage_snippet === undefined) return [];
  const path = parseSamplePath(described.usage_snippet, described.gateway_base_url);
  return path === undefined ? [] : [path];
}
