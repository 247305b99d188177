// `remora extension …`: each function is one command. No value of a variable is printed: no answer has one.
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExtensionRecord } from '../../contract/extension-records.ts';
import type { Invocation } from '../command.ts';
import { exitCode, UsageError } from '../exit-code.ts';
import { askPlatform, type PlatformClient } from '../target/platform-client.ts';
import { print, toWhen } from './print.ts';

const PAGE = 500;
const FIRST_WAIT_MS = 500;
const LAST_WAIT_MS = 5_000;
const NONE = 'none';
const busy: readonly string[] = ['requested', 'provisioning', 'updating', 'deleting'];

export async function createExtension(invocation: Invocation): Promise<number> {
  const [provider = '', name = ''] = invocation.operands;
  const { text } = invocation;
  const { primary_region, read_regions } = toRegions(invocation);
  const body = {
    provider,
    name,
    app: text('app'),
    user_id: text('user'),
    ...(typeof primary_region === 'string' ? { primary_region } : {}),
    ...(read_regions === undefined ? {} : { read_regions }),
  };
  return await askPlatform(invocation, async (client) => {
    // The first answer may take 5 s.
    invocation.out.note(`asking ${provider} for ${name}`);
    const made = await client.call('createExtension', { body });
    return await finish(invocation, client, made, name);
  });
}

export async function updateExtension(invocation: Invocation): Promise<number> {
  const [id = ''] = invocation.operands;
  const app = invocation.text('app');
  const body = { ...(app === undefined ? {} : { app: app === NONE ? null : app }), ...toRegions(invocation) };
  if (Object.keys(body).length === 0)
    throw new UsageError('extension update needs --app, --primary-region or --read-regions');
  return await askPlatform(invocation, async (client) =>
    finish(invocation, client, await client.call('updateExtension', { params: { id }, body })),
  );
}

export async function retryExtension(invocation: Invocation): Promise<number> {
  const [id = ''] = invocation.operands;
  return await askPlatform(invocation, async (client) =>
    finish(invocation, client, await client.call('retryExtension', { params: { id } })),
  );
}

export async function deleteExtension(invocation: Invocation): Promise<number> {
  const [id = ''] = invocation.operands;
  return await askPlatform(invocation, async (client) => {
    const left = await client.call('deleteExtension', { params: { id } });
    const end = left === undefined ? undefined : await wait(invocation, client, left);
    if (end !== undefined && end.state !== 'deleted') {
      return print(invocation, end, [[`${end.name} is ${end.state}${toReason(end)}`]]);
    }
    return print(invocation, { deleted: id }, [[`${id} is deleted`]]);
  });
}

export async function listExtensions(invocation: Invocation): Promise<number> {
  const extensions = await askPlatform(invocation, readAll);
  return print(invocation, { extensions }, [
    ['NAME', 'ID', 'PROVIDER', 'STATE', 'STATUS', 'PLAN', 'APP', 'CREATED'],
    ...extensions.map((each) => [
      each.name,
      each.id,
      each.provider,
      each.state,
      each.status ?? '-',
      each.plan ?? '-',
      each.app ?? '-',
      toWhen(each.created_at),
    ]),
  ]);
}

export async function showExtension(invocation: Invocation): Promise<number> {
  const [id = ''] = invocation.operands;
  const query = { refresh: invocation.has('refresh') };
  const found = await askPlatform(invocation, (client) => client.call('readExtension', { params: { id }, query }));
  return print(invocation, found, toLines(found));
}

/** Prints only the address, so that it can be handed to a browser. */
export async function openExtension(invocation: Invocation): Promise<number> {
  const [id = ''] = invocation.operands;
  const found = await askPlatform(invocation, (client) => client.call('readExtension', { params: { id } }));
  if (found.sso_url === null) throw new Error(`the extension is ${found.state}, and has no page at its provider`);
  return print(invocation, { url: found.sso_url }, [[found.sso_url]]);
}

/** Waits, says how it ended, and which variables the app has. The exit code says whether it is ready. */
async function finish(
  invocation: Invocation,
  client: PlatformClient,
  first: ExtensionRecord,
  wanted?: string,
): Promise<number> {
  const end = await wait(invocation, client, first);
  if (wanted !== undefined && end.name !== wanted) {
    invocation.out.note(`${end.provider} calls it ${end.name}, and so do later commands`);
  }
  if (end.state === 'failed') {
    invocation.out.note(`\`extension retry ${end.name}\` tries it again, \`extension delete ${end.name}\` gives it up`);
  }
  print(invocation, end, toLines(end));
  return end.state === 'failed' || (end.state === 'ready' && end.error !== null) ? exitCode.failed : exitCode.ok;
}

/** Each change is a remark, so that what goes to the output is the result alone. */
async function wait(
  { has, out }: Invocation,
  client: PlatformClient,
  first: ExtensionRecord,
): Promise<ExtensionRecord> {
  let shown = '';
  let now = first;
  for (let wait_ms = FIRST_WAIT_MS; ; wait_ms = Math.min(2 * wait_ms, LAST_WAIT_MS)) {
    const words = `${now.name} is ${now.state}${toReason(now)}`;
    if (words !== shown && busy.includes(now.state)) out.note(words);
    shown = words;
    if (!busy.includes(now.state) || has('no-wait')) return now;
    await sleep(wait_ms);
    now = await client.call('readExtension', { params: { id: first.id } });
  }
}

async function readAll(client: PlatformClient): Promise<ExtensionRecord[]> {
  const all: ExtensionRecord[] = [];
  let continuation_token: string | undefined;
  do {
    const page = await client.call('listExtensions', { query: { max_results: PAGE, continuation_token } });
    all.push(...page.extensions);
    continuation_token = page.next_continuation_token;
  } while (continuation_token !== undefined);
  return all;
}

function toReason({ error, status }: ExtensionRecord): string {
  if (error !== null) return ` (${error.code}: ${error.message})`;
  return status === null ? '' : ` (${status})`;
}

function toLines(extension: ExtensionRecord): string[][] {
  const { error, primary_region, read_regions } = extension;
  return [
    ['name', extension.name],
    ['id', extension.id],
    ['provider', extension.provider],
    ['state', extension.state],
    ...(extension.status === null ? [] : [['status', extension.status]]),
    ...(extension.plan === null ? [] : [['plan', extension.plan]]),
    ['app', extension.app ?? '-'],
    ...(extension.ip_address == null ? [] : [['private address', extension.ip_address]]),
    ...(primary_region === null ? [] : [['primary_region', primary_region]]),
    ...(read_regions.length === 0 ? [] : [['read_regions', read_regions.join(' ')]]),
    ...(error === null ? [] : [['error', `${error.code}: ${error.message}`]]),
    ['variables', extension.variables.join(' ') || '-'],
  ];
}

function toRegions({ text }: Invocation) {
  const primary = text('primary-region');
  const read = text('read-regions');
  const list = (given: string) => (given === NONE ? [] : given.split(',').map((each) => each.trim()));
  return {
    ...(primary === undefined ? {} : { primary_region: primary === NONE ? null : primary }),
    ...(read === undefined ? {} : { read_regions: list(read) }),
  };
}
