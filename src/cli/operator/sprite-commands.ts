// `remora sprite …`: each function is one command.
import { toFieldProblem } from '../../contract/field-problem.ts';
import { type Sprite, type UrlSettingsRequest, urlSettingsRequest } from '../../contract/sprites.ts';
import type { Invocation } from '../command.ts';
import { UsageError } from '../exit-code.ts';
import { askPlatform, type PlatformClient } from '../target/platform-client.ts';
import { print, toWhen } from './print.ts';

const PAGE = 500;

export async function listSprites(invocation: Invocation): Promise<number> {
  const sprites = await askPlatform(invocation, (client) => readAll(client, invocation.text('prefix')));
  return print(invocation, { sprites }, [
    ['NAME', 'STATUS', 'LABELS', 'ID', 'CREATED', 'LAST RUN'],
    ...sprites.map(({ name, status, labels = [], id, created_at, last_running_at }) => [
      name,
      status,
      labels.join(',') || '-',
      id,
      toWhen(created_at),
      toWhen(last_running_at),
    ]),
  ]);
}

async function readAll(client: PlatformClient, prefix: string | undefined): Promise<Sprite[]> {
  const all: Sprite[] = [];
  let continuation_token: string | undefined;
  do {
    const page = await client.call('listSprites', { query: { max_results: PAGE, prefix, continuation_token } });
    all.push(...page.sprites);
    continuation_token = page.next_continuation_token;
  } while (continuation_token !== undefined);
  return all;
}

export async function showSprite(invocation: Invocation): Promise<number> {
  const [name = ''] = invocation.operands;
  return show(invocation, await askPlatform(invocation, (client) => client.call('readSprite', { params: { name } })));
}

export async function createSprite(invocation: Invocation): Promise<number> {
  const [name = ''] = invocation.operands;
  const external = invocation.has('external') ? { external: true } : {};
  const app = invocation.text('app');
  const body = { name, app, ...external, ...toLabels(invocation), ...toUrlSettings(invocation, undefined) };
  const sprite = await askPlatform(invocation, (client) => client.call('createSprite', { body }));
  return print(invocation, sprite, [[sprite.id, sprite.name, sprite.url]]);
}

export async function updateSprite(invocation: Invocation): Promise<number> {
  const [name = ''] = invocation.operands;
  const flags = ['labels', 'auth', 'private-access'];
  if (!flags.some((flag) => invocation.has(flag))) {
    throw new UsageError(`sprite update: expected one of ${flags.map((flag) => `--${flag}`).join(', ')}`);
  }
  const sprite = await askPlatform(invocation, async (client) => {
    const { url_settings } = await client.call('readSprite', { params: { name } });
    const body = { ...toLabels(invocation), ...toUrlSettings(invocation, url_settings?.auth) };
    return await client.call('updateSprite', { params: { name }, body });
  });
  const { labels = [] } = sprite;
  return print(invocation, sprite, [[sprite.name, labels.join(',') || '-', JSON.stringify(sprite.url_settings)]]);
}

export async function deleteSprite(invocation: Invocation): Promise<number> {
  const [name = ''] = invocation.operands;
  await askPlatform(invocation, (client) => client.call('deleteSprite', { params: { name } }));
  return print(invocation, { deleted: name }, [[`${name} is deleted`]]);
}

function show(invocation: Invocation, sprite: Sprite): number {
  return print(invocation, sprite, [
    ['name', sprite.name],
    ['id', sprite.id],
    ['organization', sprite.organization],
    ['status', sprite.status],
    ['url', `${sprite.url} (${sprite.url_settings?.auth ?? 'sprite'})`],
    ['labels', sprite.labels?.join(',') ?? '-'],
    ['app', sprite.app ?? '-'],
    ['agent', sprite.version ?? '-'],
    ['created', toWhen(sprite.created_at)],
    ['last run', toWhen(sprite.last_running_at)],
  ]);
}

function toLabels({ text }: Invocation): { labels?: string[] } {
  const labels = text('labels')
    ?.split(',')
    .filter((label) => label !== '');
  return labels === undefined ? {} : { labels };
}

/** Empty when neither flag is given; `auth` is used when only the other flag is given. */
function toUrlSettings({ text }: Invocation, auth: string | undefined): { url_settings?: UrlSettingsRequest } {
  const private_access = text('private-access');
  if (text('auth') === undefined && private_access === undefined) return {};
  const parsed = urlSettingsRequest.safeParse(
    { auth: text('auth') ?? auth, private_access },
    { error: toFieldProblem },
  );
  if (parsed.success) return { url_settings: parsed.data };
  const [issue] = parsed.error.issues;
  throw new UsageError(`--${String(issue?.path[0]).replace('_', '-')}: ${issue?.message}`);
}
