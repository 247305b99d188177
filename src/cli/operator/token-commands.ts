// `remora token …`: each function is one command.
import { parseDuration } from '../../contract/duration.ts';
import type { TokenRecord } from '../../contract/tokens.ts';
import type { Invocation } from '../command.ts';
import { UsageError } from '../exit-code.ts';
import { askPlatform, type PlatformClient } from '../target/platform-client.ts';
import { print, toWhen } from './print.ts';

const PAGE = 500;
const DAY_MS = 86_400_000;

export async function listTokens(invocation: Invocation): Promise<number> {
  const tokens = await askPlatform(invocation, readAll);
  return print(invocation, { tokens }, [
    ['ID', 'NAME', 'OF', 'ACCESS', 'USER', 'CREATED', 'EXPIRES'],
    ...tokens.map((token) => [
      token.id,
      token.name ?? '-',
      token.machine === null ? (token.sprite ?? 'organization') : `machine ${token.machine}`,
      token.access,
      token.user_id ?? '-',
      toWhen(token.created_at),
      token.expires_at === null ? 'never' : toWhen(token.expires_at),
    ]),
  ]);
}

async function readAll(client: PlatformClient): Promise<TokenRecord[]> {
  const all: TokenRecord[] = [];
  let continuation_token: string | undefined;
  do {
    const page = await client.call('listTokens', { query: { max_results: PAGE, continuation_token } });
    all.push(...page.tokens);
    continuation_token = page.next_continuation_token;
  } while (continuation_token !== undefined);
  return all;
}

/** Prints only the token's text to standard output, so that it can be redirected to a file. */
export async function createToken(invocation: Invocation): Promise<number> {
  const { text, has } = invocation;
  const expires_at = toExpiry(text('expires'));
  const body = {
    name: text('name'),
    sprite: text('sprite'),
    user_id: text('user'),
    access: has('read-only') ? ('read' as const) : ('full' as const),
    ...(expires_at === undefined ? {} : { expires_at }),
  };
  const made = await askPlatform(invocation, (client) => client.call('createToken', { body }));
  return print(invocation, made, [[made.token]]);
}

export async function deleteToken(invocation: Invocation): Promise<number> {
  const [id = ''] = invocation.operands;
  await askPlatform(invocation, (client) => client.call('deleteToken', { params: { id } }));
  return print(invocation, { deleted: id }, [[`${id} is revoked; calls that are under way end within two seconds`]]);
}

/** Takes days too, such as `90d`. */
function toExpiry(given: string | undefined): string | undefined {
  if (given === undefined) return undefined;
  const days = /^(\d{1,5})d$/.exec(given)?.[1];
  const ms = days === undefined ? parseDuration(given) : Number(days) * DAY_MS;
  if (ms === undefined || ms === 0) throw new UsageError(`--expires takes a time such as 12h or 90d, not ${given}`);
  return new Date(Date.now() + ms).toISOString();
}
