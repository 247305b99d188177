// The operations of the operator on extension providers.
import type {
  ExtensionNotices,
  ExtensionProviderRecord,
  ExtensionSecretKind,
  extensionProviderOperations,
} from '../../contract/extension-providers.ts';
import { toDateTime } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Secret } from '../../core/secret.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Principal } from '../tokens/principal.ts';
import type { ExtensionProvider } from './extension-provider.ts';
import type { ExtensionProviders } from './extension-providers.ts';
import type { ProviderRegistration } from './provider-registration.ts';

export interface ExtensionProviderHandlerDeps {
  readonly providers: Pick<ExtensionProviders, 'find' | 'list'>;
  readonly registration: ProviderRegistration;
  /** What came of the notices of a provider. */
  readonly readNotices: (provider: string) => Promise<ExtensionNotices>;
}

export function createExtensionProviderHandlers({
  providers,
  registration,
  readNotices,
}: ExtensionProviderHandlerDeps): Handlers<typeof extensionProviderOperations, Principal> {
  return {
    async createExtensionProvider({ body }) {
      const { provider, secrets } = await registration.create(body);
      return {
        ...toExtensionProviderRecord(provider),
        provisioning_secret: secrets.provisioning.reveal(),
        webhook_secret: secrets.webhook.reveal(),
        client_secret: secrets.client.reveal(),
      };
    },
    listExtensionProviders: async () => ({ providers: (await providers.list()).map(toExtensionProviderRecord) }),
    async readExtensionProvider({ params: { name } }) {
      const found = await providers.find(name);
      if (found === undefined) throw new RemoraError('not_found', `there is no extension provider ${name}`);
      return { ...toExtensionProviderRecord(found), notices: await readNotices(name) };
    },
    updateExtensionProvider: async ({ params, body }) =>
      toExtensionProviderRecord(await registration.update(params.name, body)),
    async rotateExtensionSecret({ params: { name }, body: { kind, overlap } }) {
      const { secret, previous_expires_at } = await registration.rotate(name, kind, overlap);
      return { name, kind, ...toField(kind, secret), previous_expires_at: toDateTime(previous_expires_at) };
    },
    deleteExtensionProvider: ({ params }) => registration.delete(params.name),
  };
}

function toField(kind: ExtensionSecretKind, secret: Secret) {
  switch (kind) {
    case 'provisioning':
      return { provisioning_secret: secret.reveal() };
    case 'webhook':
      return { webhook_secret: secret.reveal() };
    case 'client':
      return { client_secret: secret.reveal() };
    default:
      return kind satisfies never;
  }
}

/** The order of the fields is that of the operator's commands. */
export function toExtensionProviderRecord(provider: ExtensionProvider): ExtensionProviderRecord {
  const { organization_id: _, created_at, redirect_uris, events, ...rest } = provider;
  return { ...rest, redirect_uris: [...redirect_uris], events: [...events], created_at: toDateTime(created_at) };
}
