// Asks the platform who this sprite is and what the policies are.
import { createClient, type Requester } from '../../../client/client.ts';
import { connectorOperations } from '../../../contract/connectors.ts';
import { type GatewayChange, gatewayOperations } from '../../../contract/gateway.ts';
import { spriteOperations } from '../../../contract/sprites.ts';
import type { PolicyDocument } from './policy-snapshot.ts';

export interface PolicySourceOptions {
  readonly baseUrl: string;
  readonly sprite: string;
  readonly dispatcher: () => Requester;
  /** Headers with the credential and the identity of the agent. */
  readonly headers: () => Readonly<Record<string, string>>;
}

export interface PolicySource {
  /** Throws UpstreamError. */
  fetch(signal: AbortSignal): Promise<PolicyDocument>;
  /** Versions as the platform sends them, the current one first. Throws UpstreamError, also when the platform lacks this operation. */
  watch(since: string | undefined, signal: AbortSignal): AsyncIterable<GatewayChange>;
}

/** The time of three keep-alives of the platform. */
const SILENCE_MS = 45_000;

const operations = {
  readSprite: spriteOperations.readSprite,
  listConnections: connectorOperations.listConnections,
  listGateway: gatewayOperations.listGateway,
  watchGateway: gatewayOperations.watchGateway,
} as const;

export function createPolicySource(options: PolicySourceOptions): PolicySource {
  const client = createClient(operations, {
    origin: options.baseUrl,
    dispatcher: options.dispatcher,
    headers: options.headers,
  });
  return {
    watch: (since, signal) => client.stream('watchGateway', { query: { since }, signal, idle_ms: SILENCE_MS }),
    async fetch(signal) {
      // The list is for display only, so that its failure does not fail the fetch of the policies.
      const list = client.call('listGateway', { signal }).catch(() => null);
      const [sprite, { connections, denied = [] }] = await Promise.all([
        client.call('readSprite', { params: { name: options.sprite }, signal }),
        client.call('listConnections', { signal }),
      ]);
      const { id, name, labels = [], url, organization } = sprite;
      return { sprite: { id, name, labels, url, organization }, connections, denied, list: await list };
    },
  };
}
