// The account that a credential opens, as the provider names it; also shows whether the credential is good.
import { RemoraError } from '../../core/remora-error.ts';
import type { Secret } from '../../core/secret.ts';
import type { AccountSource, CatalogueEntry, Injection } from '../catalogue/catalogue-entry.ts';
import { toProviderCall } from './provider-call.ts';
import type { ProviderAnswer, ProviderFetch } from './provider-fetch.ts';

export interface ProviderAccount {
  readonly id: string;
  readonly name: string | null;
}

/** Sends a GET with the credential to the provider. `address`: see `toProviderCall`. */
export async function askProvider(
  fetch: ProviderFetch,
  entry: CatalogueEntry,
  address: string,
  credential: { readonly secret: Secret; readonly injection: Injection },
  path: string,
): Promise<ProviderAnswer> {
  const { secret, injection } = credential;
  const call = toProviderCall({ ...entry, injection }, address, secret, { path, rawHeaders: [] });
  const headers: Record<string, string> = {};
  for (let index = 0; index < call.injected.length; index += 2) {
    headers[call.injected[index] ?? ''] = call.injected[index + 1] ?? '';
  }
  return await fetch(call.origin + call.path, { method: 'GET', headers });
}

/** Throws `upstream_failed` when the answer names no account. */
export function toAccount(source: AccountSource, answer: unknown): ProviderAccount {
  const id = toText(readField(answer, source.id));
  if (id === undefined) throw new RemoraError('upstream_failed', 'the provider does not say whose account this is');
  return { id, name: source.name === undefined ? null : (toText(readField(answer, source.name)) ?? null) };
}

function readField(value: unknown, path: string): unknown {
  let current = value;
  for (const name of path.split('.')) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, name)) return undefined;
    current = Object.entries(current).find(([key]) => key === name)?.[1];
  }
  return current;
}

function toText(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value.slice(0, 256) : undefined;
}
