// `remora platform extension-provider …`: each function is one command.
import { parseDuration } from '../../contract/duration.ts';
import {
  type ExtensionProviderRecord,
  extensionEvent,
  extensionSecretKind,
  type UpdateExtensionProviderRequest,
} from '../../contract/extension-providers.ts';
import type { Invocation } from '../command.ts';
import { UsageError } from '../exit-code.ts';
import { askPlatform } from '../target/platform-client.ts';
import { print, toWhen } from './print.ts';

export async function listProviders(invocation: Invocation): Promise<number> {
  const answer = await askPlatform(invocation, (client) => client.call('listExtensionProviders'));
  return print(invocation, answer, [['NAME', 'BASE URL', 'APP', 'TRAITS'], ...answer.providers.map(toRow)]);
}

export async function showProvider(invocation: Invocation): Promise<number> {
  const [name = ''] = invocation.operands;
  const found = await askPlatform(invocation, (client) => client.call('readExtensionProvider', { params: { name } }));
  const { waiting, delivered, dead, dropped, last_error, last_error_at, paused_until } = found.notices;
  return print(invocation, found, [
    ...toLines(found),
    ['notices', `${delivered} delivered, ${waiting} waiting, ${dead} given up after a day, ${dropped} dropped`],
    ...(last_error === null ? [] : [['last_error', `${last_error} (${toWhen(last_error_at)})`]]),
    ...(paused_until === null ? [] : [['paused_until', paused_until]]),
  ]);
}

/** Prints the secrets as lines too: no later command shows them. */
export async function createProvider(invocation: Invocation): Promise<number> {
  const [name = ''] = invocation.operands;
  const { base_url, ...rest } = toSettings(invocation);
  if (base_url === undefined) throw new UsageError('extension-provider create needs --base-url URL');
  const body = { name, base_url, ...rest };
  const made = await askPlatform(invocation, (client) => client.call('createExtensionProvider', { body }));
  return print(invocation, made, [
    ...toLines(made),
    ['provisioning_secret', made.provisioning_secret],
    ['webhook_secret', made.webhook_secret],
    ['client_secret', made.client_secret],
  ]);
}

export async function updateProvider(invocation: Invocation): Promise<number> {
  const [name = ''] = invocation.operands;
  const body = toSettings(invocation);
  if (Object.keys(body).length === 0) throw new UsageError('extension-provider update needs something to change');
  const changed = await askPlatform(invocation, (client) =>
    client.call('updateExtensionProvider', { params: { name }, body }),
  );
  return print(invocation, changed, toLines(changed));
}

/** Prints only the secret to standard output, so that it can be redirected to a file. */
export async function rotateSecret(invocation: Invocation): Promise<number> {
  const [name = '', given = ''] = invocation.operands;
  const kind = extensionSecretKind.safeParse(given).data;
  if (kind === undefined) {
    throw new UsageError(`a secret is one of ${extensionSecretKind.options.join(', ')}, not ${given}`);
  }
  const overlap = invocation.text('overlap');
  if (overlap !== undefined && parseDuration(overlap) === undefined) {
    throw new UsageError(`--overlap takes a time such as 24h, not ${overlap}`);
  }
  const body = { kind, ...(overlap === undefined ? {} : { overlap }) };
  const made = await askPlatform(invocation, (client) =>
    client.call('rotateExtensionSecret', { params: { name }, body }),
  );
  return print(invocation, made, [[made.provisioning_secret ?? made.webhook_secret ?? made.client_secret ?? '']]);
}

export async function deleteProvider(invocation: Invocation): Promise<number> {
  const [name = ''] = invocation.operands;
  await askPlatform(invocation, (client) => client.call('deleteExtensionProvider', { params: { name } }));
  return print(invocation, { deleted: name }, [[`${name} is deleted`]]);
}

function toSettings({ text, texts, has }: Invocation): UpdateExtensionProviderRequest {
  const base_url = text('base-url');
  const redirect_uris = texts('redirect-uri');
  const app = text('app');
  const events = texts('event').map(toEvent);
  const revenue_share_bp = toShare(text('revenue-share'));
  const flag = (name: string) => (has(name) ? true : has(`not-${name}`) ? false : undefined);
  const flags = {
    region_aware: flag('region-aware'),
    official: flag('official'),
    latency_sensitive: flag('latency-sensitive'),
  };
  return {
    ...(base_url === undefined ? {} : { base_url }),
    ...(redirect_uris.length === 0 ? {} : { redirect_uris: [...redirect_uris] }),
    ...(app === undefined ? {} : { app: app === 'none' ? null : app }),
    ...(events.length === 0 ? {} : { events }),
    ...(revenue_share_bp === undefined ? {} : { revenue_share_bp }),
    ...Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined)),
  };
}

/** Percent in hundredths, without a fraction on the way. */
function toShare(given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  const [, whole = '', part = ''] = /^(\d{1,3})(?:\.(\d{1,2}))?%?$/.exec(given) ?? [];
  const share = Number(whole) * 100 + Number(part.padEnd(2, '0'));
  if (whole !== '' && share <= 10_000) return share;
  throw new UsageError(`--revenue-share takes 0 to 100 percent with at most two decimals, not ${given}`);
}

function toEvent(given: string) {
  const event = extensionEvent.safeParse(given).data;
  if (event !== undefined) return event;
  throw new UsageError(`--event takes one of ${extensionEvent.options.join(', ')}, not ${given}`);
}

function toRow({ name, base_url, app, ...provider }: ExtensionProviderRecord): string[] {
  const { region_aware, official, latency_sensitive } = provider;
  const traits = Object.entries({ official, 'latency-sensitive': latency_sensitive, 'region-aware': region_aware });
  const shown = traits.flatMap(([trait, holds]) => (holds ? [trait] : []));
  return [name, base_url, app ?? '-', shown.join(', ') || '-'];
}

function toLines(provider: ExtensionProviderRecord): string[][] {
  const [name = '', base_url = '', app = '', traits = ''] = toRow(provider);
  return [
    ['name', name],
    ['base_url', base_url],
    ['redirect_uris', provider.redirect_uris.join(' ') || '-'],
    ['app', app],
    ['traits', traits],
    ['events', provider.events.join(' ') || '-'],
    ['revenue_share', `${provider.revenue_share_bp / 100} %`],
    ['client_id', provider.client_id],
  ];
}
