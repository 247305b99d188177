// The sample as a provider of extensions of a development platform. It is kept across runs; its secrets are made again for each.
import { join } from 'node:path';
import { RemoraError } from '../../core/remora-error.ts';
import type { PlatformAdmin } from '../../platform/admin.ts';
import type { DevRecord } from './dev-record.ts';
import type { SampleExtension, SampleRegistration } from './sample-extension/open-sample-extension.ts';
import { openVaultKeyFile } from './vault-key-file.ts';

const PROVIDER = 'sample';

export interface DevExtensionDeps {
  readonly admin: PlatformAdmin;
  readonly sample: SampleExtension;
  /** The directory of `remora dev`. */
  readonly path: string;
  readonly platformUrl: string;
  readonly print: (message: string) => void;
}

/** Registers the sample, which serves from now on. */
export async function beginSample(deps: DevExtensionDeps): Promise<DevRecord['extension_provider']> {
  const { admin, sample, path, platformUrl, print } = deps;
  const registration = await registerSample(admin, sample);
  const ownKey = openVaultKeyFile(join(path, 'extension.key'));
  sample.begin({ dir: join(path, 'extension'), ownKey, registration, platformUrl, print });
  return { name: registration.name, base_url: sample.baseUrl };
}

/** The address of the sample may have changed with its port. */
async function registerSample(admin: PlatformAdmin, sample: SampleExtension): Promise<SampleRegistration> {
  const addresses = { base_url: sample.baseUrl, redirect_uris: [sample.redirectUri] };
  const made = await admin.registerExtensionProvider({ name: PROVIDER, ...addresses }).catch(orTaken);
  if (made !== undefined) {
    const { provisioning, webhook, client } = made.secrets;
    const { client_id } = made.provider;
    return { name: PROVIDER, client_id, provisioning, webhook, client };
  }
  const { client_id } = await admin.updateExtensionProvider(PROVIDER, addresses);
  return {
    name: PROVIDER,
    client_id,
    provisioning: await admin.renewExtensionSecret(PROVIDER, 'provisioning'),
    webhook: await admin.renewExtensionSecret(PROVIDER, 'webhook'),
    client: await admin.renewExtensionSecret(PROVIDER, 'client'),
  };
}

function orTaken(error: unknown): undefined {
  if (error instanceof RemoraError && error.code === 'already_exists') return undefined;
  throw error;
}
