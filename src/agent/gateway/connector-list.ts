// What `GET /v1/gateway/list` shows: the connectors that this sprite may use, with addresses and lines for a caller in here.
import type { Connection } from '../../contract/connectors.ts';
import type { GatewayConnection } from '../../contract/gateway.ts';
import type { LocalConnection, LocalListResponse } from '../../contract/local/gateway.ts';
import { decide, isGranted } from '../../core/access-policy.ts';
import { GATEWAY_PREFIX } from '../../core/gateway-target.ts';
import type { PolicyConnector, PolicySnapshot } from './policy-snapshot.ts';
import { toSnippets } from './snippets.ts';

export interface LocalAddress {
  /** Path of the socket; what is pasted uses it. */
  readonly socket: string;
  /** `host:port` of the loopback listener, if there is one. */
  readonly tcp: string | undefined;
}

/** Any Host is accepted on the socket; this one says who answers. */
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
  const { id, provider, scopes } = connection;
  const path = `${GATEWAY_PREFIX}${provider}/${id}`;
  const base = SOCKET_ORIGIN + path;
  const snippets = toSnippets(local.socket, base + sample);
  const { description, request_scopes_url } = described ?? {};
  return {
    id,
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

/** Most providers list their models here. */
const COMMON_SAMPLE = '/v1/models';

/**
 * A path that works as pasted: one that the policy names, else the one of the platform's own line, which knows the provider; the
 * first of them that would be let through.
 */
function toSample(
  { connection, policy }: PolicyConnector,
  sprite: PolicySnapshot['document']['sprite'],
  described: GatewayConnection | undefined,
): string {
  const rules = (connection.access_policy?.allowed_endpoints ?? []).filter((rule) => rule.startsWith('/'));
  const exact = rules.filter((rule) => !rule.endsWith('*'));
  const prefixes = rules.filter((rule) => rule.endsWith('*')).map((rule) => rule.replace(/\*+$/, ''));
  const candidates = [...exact, ...prefixes, ...toSamples(described), COMMON_SAMPLE];
  return candidates.find((path) => decide(policy, sprite, path).type === 'allow') ?? COMMON_SAMPLE;
}

/** What follows the connector's address in the platform's line. */
function toSamples(described: GatewayConnection | undefined): readonly string[] {
  const [, rest = ''] = described?.usage_snippet?.split(described.gateway_base_url) ?? [];
  const [path = ''] = /^\/[\w./~-]*/.exec(rest) ?? [];
  return path === '' ? [] : [path];
}
