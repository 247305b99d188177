// The extensions of a platform on a real database, whose process may die at any step of its storage and of its requests, and be replaced
// by another one; and what must be so when nothing is under way.
import { expect } from 'vitest';
import { systemClock } from '../../../src/core/clock.ts';
import { createAppSecretStore, toAppSecretPlace } from '../../../src/platform/app-secrets/app-secret-store.ts';
import { createAppSecrets } from '../../../src/platform/app-secrets/app-secrets.ts';
import { createAppStore } from '../../../src/platform/apps/app-store.ts';
import { createChanges } from '../../../src/platform/changes.ts';
import { createExtensionProviders } from '../../../src/platform/extension-providers/extension-providers.ts';
import { createProviderRegistration } from '../../../src/platform/extension-providers/provider-registration.ts';
import { openConfig } from '../../../src/platform/extensions/extension-config.ts';
import {
  type ExtensionRow,
  parseExtensionRow,
  type StoredExtension,
} from '../../../src/platform/extensions/extension-row.ts';
import { createExtensionSecretKeeper } from '../../../src/platform/extensions/extension-secrets.ts';
import type { ExtensionService } from '../../../src/platform/extensions/extension-service.ts';
import { createTakeWebhook, type TakeWebhook } from '../../../src/platform/extensions/webhooks/take-webhook.ts';
import { openExtensions } from '../../../src/platform/open-extensions.ts';
import { createOrganizationStore } from '../../../src/platform/organizations/organization-store.ts';
import { openSignedCalls } from '../../../src/platform/provider-calls/open-signed-calls.ts';
import { openSqliteStorage } from '../../../src/platform/storage/sqlite-storage.ts';
import type { Storage } from '../../../src/platform/storage/storage.ts';
import { createVault } from '../../../src/platform/vault/vault.ts';
import { atEnd } from '../at-end.ts';
import { eventually } from '../eventually.ts';
import { type CutGate, createCutGate } from '../machine-model/cut-gate.ts';
import { cutStorage } from '../machine-model/cut-storage.ts';
import { TEST_KEY } from '../open-platform.ts';
import { QUICK } from '../provisioner.ts';
import { silentLog } from '../silent-log.ts';
import { tempDir } from '../temp-dir.ts';
import { startModelProvider } from './model-provider.ts';

const clock = systemClock;
export const APPS = ['web', 'worker'] as const;
const USER = { user_id: null, user_email: 'u@users.invalid', user_role: 'admin' } as const;

export async function openExtensionWorld() {
  const storage = openSqliteStorage(tempDir());
  atEnd(() => storage[Symbol.asyncDispose]());
  const provider = await startModelProvider();
  const vault = createVault([TEST_KEY]);
  const organization = await createOrganizationStore(storage).create('acme', 1);
  for (const name of APPS) {
    await createAppStore(storage).insert({ name, organization_id: organization.id }, 1);
  }
  const registration = createProviderRegistration({ storage, vault, clock });
  const { secrets } = await registration.create({ name: 'kv', base_url: provider.base_url, region_aware: true });
  provider.secrets.push(secrets.provisioning);

  /** Another platform process on the database. */
  async function live(): Promise<Life> {
    const steps: string[] = [];
    const gate = createCutGate((step) => void steps.push(step));
    const cut: Storage = cutStorage(storage, gate);
    const providers = createExtensionProviders({ sql: cut, vault, clock });
    const calls = openSignedCalls(providers, clock);
    const changes = createChanges();
    const parts = await openExtensions({
      options: { extensionTimes: QUICK, log: silentLog },
      stores: { storage: cut, host: 'local', isShared: false, organizations: createOrganizationStore(cut) },
      providers,
      call: (to, request) => gate.pass(`${request.method} at the provider`, () => calls.call(to, request)),
      vault,
      changes,
      machineParts: {},
      clock,
    });
    const keeper = createExtensionSecretKeeper({
      vault,
      appSecrets: createAppSecrets({ storage: cut, vault, changes, clock }),
    });
    const take = createTakeWebhook({
      storage: cut,
      secrets: keeper,
      hasConsent: async () => false,
      clock,
      log: silentLog,
    });
    return {
      gate,
      steps,
      create: (name: string, more: object = {}) =>
        parts.service
          .create(organization, { provider: 'kv', name, ...more }, USER)
          // A change of nothing has the worker look for what is due.
          .then(({ id }) => parts.service.update(organization, id, {})),
      service: parts.service,
      take,
      async kill() {
        gate.die();
        await calls[Symbol.asyncDispose]();
      },
      async end() {
        await parts[Symbol.asyncDispose]();
        await calls[Symbol.asyncDispose]();
      },
    };
  }

  /** Webhooks that no process has taken yet: the provider sends each again until one has. */
  const untaken = new Set<Webhook>();
  let sent = 0;

  /** Tells of a change or the end of what is ready under this name, if anything is. */
  async function tell(life: Pick<Life, 'take'>, name: string, action: Webhook['action']): Promise<void> {
    const row = (await rows()).find((each) => each.name === name && each.state === 'ready');
    if (row === undefined) return;
    if (action === 'resource.deleted') provider.resources.delete(row.id);
    untaken.add({ action, resource: { id: `r-${row.id}`, status: 'sleeping', plan: 'large' } });
    await sendAgain(life);
  }

  async function sendAgain({ take }: Pick<Life, 'take'>): Promise<void> {
    for (const webhook of [...untaken]) {
      const timestamp = String(Math.floor(Date.now() / 1_000));
      sent += 1;
      await take('kv', { ...webhook, timestamp }, Buffer.from(String(sent)));
      untaken.delete(webhook);
    }
  }

  async function rows(): Promise<readonly ExtensionRow[]> {
    return (await storage.all<StoredExtension>('SELECT * FROM extensions ORDER BY id')).map(parseExtensionRow);
  }

  async function secretsOf(id: string): Promise<Record<string, Record<string, string>>> {
    const found: Record<string, Record<string, string>> = {};
    for (const app of APPS) {
      for (const row of await createAppSecretStore(storage).list(app)) {
        if (row.owner.kind !== 'extension' || row.owner.id !== id) continue;
        found[app] ??= {};
        found[app][row.name] = vault.open(toAppSecretPlace(row), row.closed).reveal();
      }
    }
    return found;
  }

  async function rest(): Promise<readonly ExtensionRow[]> {
    return await eventually(async () => {
      const found = await rows();
      return found.every(({ step }) => step === null) ? found : undefined;
    });
  }

  /** Waits until nothing is under way, and checks that records, resources and secrets agree. */
  async function agree(what: string): Promise<readonly ExtensionRow[]> {
    const found = await rest();
    for (const row of found) {
      const { id, state, app } = row;
      const about = `${what}: ${row.name} is ${state} ${row.error?.code ?? ''}`;
      const config = provider.configOf(id);
      expect(['ready', 'failed', 'deleted'], about).toContain(state);
      expect(provider.made.get(id) ?? 0, `${about}, and was made once`).toBeLessThanOrEqual(1);
      if (state === 'deleted') expect(config, `${about}, and is gone at the provider`).toBeUndefined();
      if (state === 'ready') expect(config, `${about}, and is there at the provider`).toBeDefined();
      const isGiven = state === 'ready' && app !== null;
      expect(await secretsOf(id), about).toEqual(isGiven ? { [app]: config } : {});
      if (state === 'ready') {
        const kept = row.config === null ? {} : Object.fromEntries(openConfig(vault, row, row.config));
        const values = Object.entries(kept).map(([name, value]) => [name, value.reveal()]);
        expect(Object.fromEntries(values), about).toEqual(config);
      }
      if (state === 'deleted') expect(row.config, about).toBeNull();
    }
    const known = new Set(found.filter(({ state }) => state !== 'deleted').map(({ id }) => id));
    for (const id of provider.resources.keys()) expect(known.has(id), `${what}: ${id} is forgotten`).toBe(true);
    return found;
  }

  return { organization, provider, live, rows, rest, agree, tell, sendAgain };
}

/** One platform process. */
export interface Life {
  readonly gate: CutGate;
  /** What it has done, and where it died. */
  readonly steps: readonly string[];
  create(name: string, more?: object): Promise<unknown>;
  readonly service: ExtensionService;
  readonly take: TakeWebhook;
  /** Its connections end with it. */
  kill(): Promise<void>;
  end(): Promise<void>;
}

interface Webhook {
  readonly action: 'resource.updated' | 'resource.deleted';
  readonly resource: { readonly id: string; readonly status: string; readonly plan: string };
}

export type ExtensionWorld = Awaited<ReturnType<typeof openExtensionWorld>>;
