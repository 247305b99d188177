// Wires the extensions: the registry of their providers, what is asked of these, and their webhooks.
import type { Clock } from '../core/clock.ts';
import { createAppSecrets } from './app-secrets/app-secrets.ts';
import type { Changes } from './changes.ts';
import type { ExtensionProviders } from './extension-providers/extension-providers.ts';
import { createAddressOf } from './extensions/address-of.ts';
import { createAskProvider } from './extensions/ask-provider.ts';
import { createCarryOutStep } from './extensions/carry-out-step.ts';
import { createExtensionClaims, endOwnClaims } from './extensions/extension-claims.ts';
import { createExtensionHandlers } from './extensions/extension-handlers.ts';
import { createExtensionSecretKeeper } from './extensions/extension-secrets.ts';
import { createExtensionService, type ExtensionService } from './extensions/extension-service.ts';
import { createExtensionStore } from './extensions/extension-store.ts';
import { createExtensionWorker } from './extensions/extension-worker.ts';
import { defaultStepTimes } from './extensions/step-times.ts';
import { createTakeWebhook } from './extensions/webhooks/take-webhook.ts';
import { createWebhookHandlers } from './extensions/webhooks/webhook-handlers.ts';
import { createWebhookStore } from './extensions/webhooks/webhook-store.ts';
import type { MachineParts } from './open-machines.ts';
import type { Stores } from './open-stores.ts';
import type { PlatformOptions } from './platform-options.ts';
import type { SignedCall } from './provider-calls/signed-call.ts';
import { createSignOnStore } from './sign-on/sign-on-store.ts';
import type { Sql } from './storage/storage.ts';
import { createUserStore } from './users/user-store.ts';
import type { Vault } from './vault/vault.ts';

export interface ExtensionParts extends AsyncDisposable {
  readonly service: ExtensionService;
  readonly handlers: ReturnType<typeof createExtensionHandlers> & ReturnType<typeof createWebhookHandlers>;
}

export interface OpenExtensionsDeps {
  readonly options: Pick<PlatformOptions, 'extensionTimes' | 'log'>;
  readonly stores: Pick<Stores, 'storage' | 'host' | 'isShared' | 'organizations'>;
  readonly providers: ExtensionProviders;
  readonly call: SignedCall;
  readonly vault: Vault;
  readonly changes: Changes;
  /** Where machines have networks of their own, extensions have private addresses. */
  readonly machineParts: Pick<MachineParts, 'privateNetworks'>;
  readonly clock: Clock;
}

/** How often a platform process looks for what another one has left. */
const LOOK_MS = 15_000;

/** Nothing is loaded, dialled or timed while there is nothing to do. Dispose of it before the stores. */
export async function openExtensions(deps: OpenExtensionsDeps): Promise<ExtensionParts> {
  const { options, stores, providers, call, vault, changes, machineParts, clock } = deps;
  const hasPrivateNetworks = machineParts.privateNetworks !== undefined;
  const { storage, host, isShared, organizations } = stores;
  const { log } = options;
  await using stack = new AsyncDisposableStack();
  const times = { ...defaultStepTimes, ...options.extensionTimes };
  const users = createUserStore(storage);
  const claims = createExtensionClaims(storage, host);
  const secrets = createExtensionSecretKeeper({
    vault,
    appSecrets: createAppSecrets({ storage, vault, changes, clock }),
  });
  const addressOf = createAddressOf(hasPrivateNetworks);
  const ask = createAskProvider({ call, times, clock });
  const carryOut = createCarryOutStep({
    storage,
    providers,
    organizations,
    users,
    ask,
    claims,
    secrets,
    times,
    addressOf,
    clock,
    log,
  });
  const look_ms = isShared ? LOOK_MS : undefined;
  const worker = stack.use(createExtensionWorker({ claims, carryOut, look_ms, clock, log }));
  const service = createExtensionService({ storage, secrets, hasPrivateNetworks, look: worker.look, clock });
  await endOwnClaims(storage, host);
  worker.look();
  const handlers = {
    ...createExtensionHandlers({
      service,
      store: createExtensionStore(storage),
      providers,
      users,
      webhooks: createWebhookStore(storage),
      worker,
      addressOf,
      answerWithin_ms: times.answerWithin_ms,
    }),
    ...createWebhookHandlers({
      providers,
      take: createTakeWebhook({ storage, secrets, hasConsent, clock, log }),
      look: worker.look,
      clock,
    }),
  };
  const owned = stack.move();
  return { service, handlers, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

function hasConsent(sql: Sql, provider: string, organization_id: string): Promise<boolean> {
  return createSignOnStore(sql).hasConsentIn(organization_id, provider);
}
