// What `GET /v1/gateway/list` shows: the connectors that this sprite may use, with addresses and lines for a caller in here.
import type { Connection } from '../../contract/connectors.ts';
import type { GatewayConnection } from '../../contract/gateway.ts';
import type { LocalConnection, LocalListResponse } from '../../contract/local/gateway.ts';
import { isGranted } from '../../core/access-policy.ts';
import { GATEWAY_PREFIX } from '../../core/gateway-target.ts';
import type { PolicySnapshot } from './policy-snapshot.ts';
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
  for (const [id, { connection, policy }] of connectors) {
    if (isGranted(policy, document.sprite)) connections.push(toRow(connection, described.get(id), local));
  }
  return { connections, available: document.list?.available ?? [] };
}

function toRow(connection: Connection, described: GatewayConnection | undefined, local: LocalAddress): LocalConnection {
  const { id, provider, scopes } = connection;
  const path = `${GATEWAY_PREFIX}${provider}/${id}`;
  const base = SOCKET_ORIGIN + path;
  const snippets = toSnippets(local.socket, base + samplePath(connection));
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

/** A path that the policy names, so that the line works as pasted; else the one most providers list their models at. */
function samplePath(connection: Connection): string {
  const rules = connection.access_policy?.allowed_endpoints;
  const exact = rules?.find((rule) => rule.startsWith('/') && !rule.endsWith('*'));
  const prefix = rules?.find((rule) => rule.startsWith('/'))?.replace(/\*$/, '');
  return exact ?? prefix ?? '/v1/models';
}
