// A credential as the text that the vault closes: an API key as it is, the other types as JSON. Pure.
import { z } from 'zod';
import type { ConnectionType } from '../../../contract/connectors.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import { Secret } from '../../../core/secret.ts';

export type Credential =
  | { readonly type: 'api_key'; readonly api_key: Secret }
  | { readonly type: 'oauth'; readonly access_token: Secret; readonly refresh_token: Secret | undefined }
  /** `reference` is the provider's own name of the key, needed to revoke it. */
  | { readonly type: 'provisioned'; readonly api_key: Secret; readonly reference: string };

const stored = z.object({
  access_token: z.string().optional(),
  refresh_token: z.string().optional(),
  api_key: z.string().optional(),
  reference: z.string().optional(),
});

export function toStoredCredential(credential: Credential): Secret {
  switch (credential.type) {
    case 'api_key':
      return credential.api_key;
    case 'oauth': {
      const refresh_token = credential.refresh_token?.reveal();
      return new Secret(JSON.stringify({ access_token: credential.access_token.reveal(), refresh_token }));
    }
    case 'provisioned': {
      const { api_key, reference } = credential;
      return new Secret(JSON.stringify({ api_key: api_key.reveal(), reference }));
    }
    default:
      return credential satisfies never;
  }
}

/** Throws `internal` for what does not fit the type of its connector. */
export function parseCredential(type: ConnectionType, secret: Secret): Credential {
  if (type === 'api_key') return { type, api_key: secret };
  const { access_token, refresh_token, api_key, reference } = parseStored(secret);
  if (type === 'oauth' && access_token !== undefined) {
    const renewal = refresh_token === undefined ? undefined : new Secret(refresh_token);
    return { type, access_token: new Secret(access_token), refresh_token: renewal };
  }
  if (type === 'provisioned' && api_key !== undefined && reference !== undefined) {
    return { type, api_key: new Secret(api_key), reference };
  }
  throw new RemoraError('internal', 'the credential of this connector cannot be read', {
    cause: new Error(`type ${type}`),
  });
}

function parseStored(secret: Secret): z.infer<typeof stored> {
  try {
    return stored.safeParse(JSON.parse(secret.reveal())).data ?? {};
  } catch {
    return {};
  }
}
