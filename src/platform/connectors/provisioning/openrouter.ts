// Makes and revokes keys of OpenRouter through its API for keys, which names a key by a hash.
import { z } from 'zod';
import { readBoundedJson } from '../../../core/bounded-json.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import { Secret } from '../../../core/secret.ts';
import type { ProviderAnswer } from '../../upstream/provider-fetch.ts';
import type { Provisioner, ProvisionerCall } from './provisioner.ts';

const created = z.object({ key: z.string().min(1), data: z.object({ hash: z.string().min(1) }) });

export const openRouterProvisioner: Provisioner = {
  async create(call, name) {
    const answer = await call.fetch(toUrl(call), {
      method: 'POST',
      headers: { ...toHeaders(call), 'content-type': 'application/json' },
      body: JSON.stringify({ name }),
    });
    const parsed = created.safeParse(readBoundedJson(answer.text));
    if (answer.status >= 300 || !parsed.success) throw refused(answer);
    return { api_key: new Secret(parsed.data.key), reference: parsed.data.data.hash };
  },
  async revoke(call, reference) {
    const url = `${toUrl(call)}/${encodeURIComponent(reference)}`;
    const answer = await call.fetch(url, { method: 'DELETE', headers: toHeaders(call) });
    if (answer.status >= 300 && answer.status !== 404) throw refused(answer);
  },
};

function toUrl({ entry }: ProvisionerCall): string {
  if (entry.address.type !== 'fixed') throw new RemoraError('internal', 'a provider with provisioning has one address');
  return `${entry.address.url}/v1/keys`;
}

function toHeaders({ management_key }: ProvisionerCall): Record<string, string> {
  return { authorization: `Bearer ${management_key.reveal()}` };
}

function refused({ status }: ProviderAnswer): RemoraError {
  return new RemoraError('upstream_failed', `the provider answered ${status} when it was asked for a key`);
}
