// Splits a gateway URL as people write it, byte for byte: a URL parser would change the path that the policy is to judge. Pure.

export interface GatewayTarget {
  readonly provider: string;
  readonly connector_id: string;
  /** The path with its query, as it would reach the provider. */
  readonly path: string;
}

/** `undefined` for what is not `[http://host]/v1/gateway/PROVIDER/CONNECTOR[/PATH]`. */
export function parseGatewayTarget(url: string): GatewayTarget | undefined {
  const match = /^(?:https?:\/\/[^/?#]*)?\/v1\/gateway\/([^/?#]+)\/([^/?#]+)(\/.*|\?.*)?$/s.exec(url);
  const [, provider, connector_id, rest = '/'] = match ?? [];
  if (provider === undefined || connector_id === undefined) return undefined;
  return { provider, connector_id, path: rest.startsWith('/') ? rest : `/${rest}` };
}
