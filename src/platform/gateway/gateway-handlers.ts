// The operations of the gateway (Sandbox API, What the service does): calls, what a caller may use, and the stream of changes to that.
// A change of a policy, a token or a machine ends the calls that it no longer allows.
import type { gatewayOperations } from '../../contract/gateway.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import { createSecretVersions } from '../app-secrets/app-secret-store.ts';
import type { Changes } from '../changes.ts';
import { createCompiledPolicies } from '../connectors/compiled-policies.ts';
import type { ConnectorStore } from '../connectors/records/connector-store.ts';
import { splitByUse } from '../connectors/split-by-use.ts';
import { parseIncarnationHeaders } from '../fencing/parse-incarnation-headers.ts';
import type { SpriteStore } from '../sprites/sprite-store.ts';
import type { Storage } from '../storage/storage.ts';
import { isCaller, organizationOf, type Principal, spriteOf } from '../tokens/principal.ts';
import { createChangeFeed } from './change-feed.ts';
import { toConnectorsDigest } from './connectors-digest.ts';
import { createForwardCall, type ForwardCallDeps } from './forward-call.ts';
import { toGatewayList } from './gateway-list.ts';
import { toGatewayVersion } from './gateway-version.ts';
import { createOpenCalls } from './open-calls.ts';
import { recheckCaller } from './recheck-caller.ts';
import type { CallRecord, UsageRecorder } from './usage/usage-recorder.ts';

export interface GatewayDeps extends Omit<ForwardCallDeps, 'policyOf' | 'calls' | 'now_ms'> {
  readonly storage: Pick<Storage, 'all' | 'one'>;
  readonly connectors: Pick<ConnectorStore, 'list'>;
  readonly sprites: Pick<SpriteStore, 'find'>;
  readonly changes: Pick<Changes, 'subscribe'>;
  readonly platformUrl: () => string;
  readonly usageRecorder: Pick<UsageRecorder, 'add'>;
}

/** How long calls in flight go on while the database cannot be asked whether they are still allowed. */
const STORAGE_GRACE_MS = 30_000;

export function createGatewayHandlers(deps: GatewayDeps): Handlers<typeof gatewayOperations, Principal> {
  const policyOf = createCompiledPolicies();
  const now_ms = () => performance.now();
  const calls = createOpenCalls({ grace_ms: STORAGE_GRACE_MS, now_ms });
  const feed = createChangeFeed(() => {
    const digests = new Map<string, Promise<string>>();
    const secretsOf = createSecretVersions(deps.storage);
    const digestOf = async (id: string) => await toConnectorsDigest(await deps.connectors.list(id, undefined));
    return async (sprite_id) => {
      const sprite = await deps.sprites.find(sprite_id);
      if (sprite === undefined) return undefined;
      const { organization_id } = sprite;
      const digest = digests.get(organization_id) ?? digestOf(organization_id);
      digests.set(organization_id, digest);
      return toGatewayVersion(sprite, await digest, await secretsOf(sprite_id));
    };
  });
  const { changes } = deps;
  const recheckAll = () => {
    void calls.recheck();
    feed.check();
  };
  changes.subscribe('connector_changed', ({ connector_id }) => {
    void calls.recheck({ connector_id });
    feed.check();
  });
  changes.subscribe('sprite_changed', ({ sprite_id }) => {
    void calls.recheck({ sprite_id });
    feed.check();
  });
  changes.subscribe('app_secrets_changed', () => feed.check());
  changes.subscribe('revalidation_due', recheckAll);
  changes.subscribe('incarnation_replaced', ({ sprite_id }) => {
    void calls.recheck({ sprite_id });
    void feed.recheck(sprite_id);
  });

  const forward = createForwardCall({ ...deps, policyOf, calls, now_ms });

  return {
    async watchGateway({ principal, query, request }, sink) {
      const sprite = spriteOf(principal);
      if (sprite === undefined || !isCaller(principal)) return;
      const incarnation = parseIncarnationHeaders(request.headers);
      const recheck = async () => recheckCaller(await deps.recheck(principal), incarnation);
      await feed.follow(sprite.id, query.since, sink, recheck);
    },
    async listGateway({ principal }) {
      const rows = await deps.connectors.list(organizationOf(principal).id, undefined);
      const { usable } = await splitByUse(rows, principal, policyOf);
      return await toGatewayList(usable, deps.catalogue, deps.platformUrl());
    },
    async gateway({ request, principal, upgrade }, response) {
      const started_ms = performance.now();
      if (!isCaller(principal)) throw new RemoraError('unauthorized', 'the gateway serves nobody unknown');
      const record: CallRecord = { caller: principal, method: request.method ?? '' };
      let failure: unknown;
      try {
        await forward(record, { request, principal, upgrade }, response);
      } catch (error) {
        failure = error;
        throw error;
      } finally {
        deps.usageRecorder.add(record, failure, Math.round(performance.now() - started_ms));
      }
    },
  };
}
