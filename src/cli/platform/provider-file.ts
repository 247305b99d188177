// The TOML file that adds providers to the catalogue and names the platform's OAuth clients and management keys. Secrets are in files
// of their own.
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import { z } from 'zod';
import { toFieldProblem } from '../../contract/field-problem.ts';
import { Secret } from '../../core/secret.ts';
import { catalogueEntry, type NewCatalogueEntry } from '../../platform/catalogue/catalogue-entry.ts';
import type { OAuthClient } from '../../platform/connectors/oauth/oauth-client.ts';
import { readSecretFile } from '../secret-file.ts';

export interface ProviderFile {
  readonly catalogue: readonly NewCatalogueEntry[];
  readonly oauthClients: readonly OAuthClient[];
  readonly managementKeys: ReadonlyMap<string, Secret>;
}

const form = z.strictObject({
  providers: z.array(catalogueEntry).default([]),
  oauth_clients: z
    .record(
      z.string(),
      z.strictObject({
        client_id: z.string().min(1),
        client_secret_file: z.string().min(1),
        redirect_uris: z.array(z.url()).default([]),
      }),
    )
    .default({}),
  management_keys: z.record(z.string(), z.strictObject({ key_file: z.string().min(1) })).default({}),
});

/** Throws with every problem of the file at once, and when a file with a secret cannot be read, or others may read it too. */
export function readProviderFile(path: string): ProviderFile {
  const parsed = form.safeParse(readToml(path), { error: toFieldProblem });
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new Error(`${path} cannot be used:\n${problems.join('\n')}`);
  }
  const { providers, oauth_clients, management_keys } = parsed.data;
  const secretFrom = (file: string) => new Secret(readSecretFile(resolve(dirname(path), file)).trim());
  return {
    catalogue: providers,
    oauthClients: Object.entries(oauth_clients).map(([provider, { client_id, client_secret_file, redirect_uris }]) => ({
      provider,
      client_id,
      client_secret: secretFrom(client_secret_file),
      redirect_uris,
    })),
    managementKeys: new Map(
      Object.entries(management_keys).map(([provider, { key_file }]) => [provider, secretFrom(key_file)]),
    ),
  };
}

function readToml(path: string): unknown {
  const text = readFileSync(path, 'utf8');
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // The lines after the first show the place again, with what is written there.
    const [problem] = error.message.split('\n');
    throw new Error(`${path}, line ${error.line}: ${problem}; correct the file`, { cause: error });
  }
}
