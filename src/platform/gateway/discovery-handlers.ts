// The operations that describe the gateway: the dry run, the providers, and the guide.
import { accessPolicy } from '../../contract/access-policy.ts';
import type { DryRunRequest, GatewayDryRun, gatewayDiscoveryOperations } from '../../contract/gateway-discovery.ts';
import type { Clock } from '../../core/clock.ts';
import { decide, type SpriteIdentity } from '../../core/gateway/access-policy.ts';
import { toGatewayGuide } from '../../core/gateway/gateway-guide.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { createCompiledPolicies } from '../connectors/compiled-policies.ts';
import { toGatewayUrl } from '../connectors/connector-record.ts';
import { toCredentialOutlook } from '../connectors/credential-outlook.ts';
import type { Credentials } from '../connectors/credentials.ts';
import { listConnections } from '../connectors/list-connections.ts';
import type { ConnectorRow, ConnectorStore } from '../connectors/records/connector-store.ts';
import { splitByUse } from '../connectors/split-by-use.ts';
import { parseStoredPolicy } from '../connectors/stored-policy.ts';
import { toUsageSnippet } from '../connectors/usage-snippet.ts';
import type { SpriteStore } from '../sprites/sprite-store.ts';
import { checkOwnSprite, organizationOf, type Principal, spriteOf } from '../tokens/principal.ts';
import { type DryRun, toDryRunAnswer, toDryRunTarget, toForwarded } from './dry-run.ts';
import { findConnector, type NamedConnector } from './find-connector.ts';
import { toProviderRecord, type WaysToConnect } from './provider-record.ts';

export interface DiscoveryDeps {
  readonly connectors: Pick<ConnectorStore, 'find' | 'list'>;
  readonly sprites: Pick<SpriteStore, 'findByName'>;
  readonly catalogue: Catalogue;
  readonly credentials: Pick<Credentials, 'read'>;
  readonly ways: WaysToConnect;
  readonly clock: Clock;
  readonly platformUrl: () => string;
}

type Rows = typeof gatewayDiscoveryOperations;

export function createDiscoveryHandlers(deps: DiscoveryDeps): Handlers<Rows, Principal> {
  const { catalogue, platformUrl } = deps;
  const policyOf = createCompiledPolicies();

  /** The connectors that the caller may use; an organization may use all of its own. */
  async function usableBy(principal: Principal): Promise<readonly ConnectorRow[]> {
    const rows = await deps.connectors.list(organizationOf(principal).id, undefined);
    return (await splitByUse(rows, principal, policyOf)).usable;
  }

  async function identityOf(principal: Principal, named: string | undefined): Promise<SpriteIdentity | null> {
    if (named !== undefined) checkOwnSprite(principal, ({ name }) => name === named);
    const own = spriteOf(principal);
    if (own !== undefined) return own;
    if (named === undefined) return null;
    const found = await deps.sprites.findByName(organizationOf(principal).id, named);
    if (found === undefined) throw new RemoraError('not_found', `there is no sprite ${named}`);
    return found;
  }

  async function dryRun(principal: Principal, request: DryRunRequest): Promise<DryRun> {
    const sprite = await identityOf(principal, request.sprite);
    const target = toDryRunTarget(request);
    if (target.type === 'reject') return { request, sprite, target };
    let named: NamedConnector;
    try {
      named = await findConnector(deps, organizationOf(principal).id, target.provider, target.connector_id);
    } catch (error) {
      return { request, sprite, target, obstacle: toObstacle(error) };
    }
    const { row, entry } = named;
    const policy = accessPolicy.safeParse(parseStoredPolicy(row.access_policy)).data;
    const decision = decide(policyOf(row.access_policy), sprite, target.path);
    const judged = { request, sprite, target, policy, decision };
    if (decision.type === 'deny') return judged;
    try {
      const isClient = entry.oauth !== undefined && deps.ways.oauth.has(entry.provider);
      const credential = await deps.credentials.read(row);
      const outlook = toCredentialOutlook({ row, credential, isClient, now_ms: deps.clock.wall_ms() });
      if (outlook instanceof RemoraError) return { ...judged, obstacle: outlook };
      const address = entry.address.type === 'fixed' ? entry.address.url : row.base_api_url;
      if (address === null) throw new RemoraError('internal', 'the connector has no address');
      const injection = (credential.type === 'oauth' ? entry.oauth?.injection : undefined) ?? entry.injection;
      const renews_token = outlook === 'renew';
      const { headers } = request;
      return { ...judged, forwarded: toForwarded({ entry, injection, address, target, headers, renews_token }) };
    } catch (error) {
      return { ...judged, obstacle: toObstacle(error) };
    }
  }

  return {
    async explainCall({ principal, body }): Promise<GatewayDryRun> {
      return toDryRunAnswer(await dryRun(principal, body));
    },
    async listProviders({ principal, query }) {
      const usable = await usableBy(principal);
      const wanted = catalogue.entries.filter(({ provider }) => (query.provider ?? provider) === provider);
      return { providers: wanted.map((entry) => toProviderRecord(entry, usable, deps.ways, platformUrl())) };
    },
    async gatewayGuide({ principal }) {
      const usable = await usableBy(principal);
      const listed = await listConnections(usable, (row) => {
        const entry = catalogue.find(row.provider);
        if (entry === undefined) return [];
        const { display_name, description } = entry;
        const base_url = toGatewayUrl(row, platformUrl());
        const snippet = toUsageSnippet(base_url + entry.sample_path);
        return [{ id: row.id, provider: row.provider, display_name, description, base_url, snippet }];
      });
      return toGatewayGuide({ origin: platformUrl(), reach: REACH, connections: listed.flat() });
    },
  };
}

const REACH = [
  'Calls to this address carry the token of a sprite, `Authorization: Bearer …`; the lines below read it from the variable',
  '`REMORA_SPRITE_TOKEN`. Inside a sprite, ask its agent over the Unix',
  'socket instead, which brings the token itself: the same paths, and a guide of its own.',
].join('\n');

function toObstacle(error: unknown): RemoraError {
  if (error instanceof RemoraError) return error;
  throw error;
}
