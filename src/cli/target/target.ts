// Finds the platform that a command works on: one at an address, with a token, or one in a directory of this machine.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Secret } from '../../core/secret.ts';
import type { Invocation } from '../command.ts';
import { readDevRecord } from '../dev/read-dev-record.ts';
import { UsageError } from '../exit-code.ts';
import { DEFAULT_PLATFORM_DIR } from '../platform/platform-dir.ts';
import { readSecretFlag } from '../read-secret-flag.ts';
import { readContext } from './context-file.ts';

export type Target =
  | { readonly type: 'remote'; readonly url: string; readonly token: Secret }
  | { readonly type: 'local'; readonly dir: string };

type Words = Pick<Invocation, 'text' | 'env' | 'out'>;

/**
 * The first of: --url or --dir; REMORA_URL; REMORA_PLATFORM_DIR or a database; the file of `remora login`; the installed platform; a
 * running `remora dev` of this user. The token of a platform at an address is the first of: --token-file; REMORA_API_TOKEN_FILE;
 * REMORA_API_TOKEN; the one that is kept with the address. Throws UsageError when there is no platform, no token for it, or a
 * --token-file for one that takes none, and an Error for a file that cannot be read.
 */
export function findTarget(words: Words): Target {
  const target = findPlace(words);
  if (target.type === 'local' && words.text('token-file') !== undefined) {
    throw new UsageError(
      `--token-file is for a platform at an address, and ${target.dir} is one of this machine, which asks for none; add --url URL`,
    );
  }
  return target;
}

function findPlace(words: Words): Target {
  const { text, env } = words;
  const url = text('url');
  const dir = text('dir');
  if (url !== undefined && dir !== undefined) {
    throw new UsageError('--url is a platform elsewhere and --dir one of this machine; give one of them');
  }
  if (url !== undefined) return toRemote(url, words);
  if (dir !== undefined) return { type: 'local', dir };
  if (text('database') !== undefined) return { type: 'local', dir: env.REMORA_PLATFORM_DIR ?? DEFAULT_PLATFORM_DIR };
  if (env.REMORA_URL) return toRemote(env.REMORA_URL, words);
  if (env.REMORA_PLATFORM_DIR || env.REMORA_DATABASE_URL) {
    return { type: 'local', dir: env.REMORA_PLATFORM_DIR ?? DEFAULT_PLATFORM_DIR };
  }
  const context = readContext(env);
  if (context !== undefined) {
    return { type: 'remote', url: context.url, token: findGivenToken(words) ?? context.token };
  }
  if (existsSync(join(DEFAULT_PLATFORM_DIR, 'platform.db'))) return { type: 'local', dir: DEFAULT_PLATFORM_DIR };
  const { platform_url, token } = readDevRecord() ?? {};
  if (platform_url !== undefined && token !== undefined) {
    return { type: 'remote', url: platform_url, token: findGivenToken(words) ?? new Secret(token) };
  }
  throw new UsageError(
    'no platform is known: `remora login --url URL` keeps one, --url URL or REMORA_URL names one, --dir DIR is one of this machine',
  );
}

function toRemote(given: string, words: Words): Target {
  const url = parseUrl(given);
  const token = findToken(url, words);
  if (token !== undefined) return { type: 'remote', url, token };
  throw new UsageError(
    `there is no token for ${url}: --token-file FILE, REMORA_API_TOKEN, or \`remora login --url ${url}\``,
  );
}

/** Throws UsageError for what is no http or https address. */
export function parseUrl(given: string): string {
  const url = URL.parse(given);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.search + url.hash !== '') {
    throw new UsageError(`${given} is no address of a platform; expected https://HOST or http://HOST:PORT`);
  }
  return url.href.replace(/\/$/, '');
}

function findToken(url: string, words: Words): Secret | undefined {
  const given = findGivenToken(words);
  if (given !== undefined) return given;
  const context = readContext(words.env);
  return context?.url === url ? context.token : undefined;
}

/** The token that the flag or the environment gives. An empty variable gives none. */
function findGivenToken({ text, env, out }: Words): Secret | undefined {
  const file = text('token-file');
  if (file !== undefined) return new Secret(readSecretFlag('--token-file', file, out));
  const { REMORA_API_TOKEN_FILE: named, REMORA_API_TOKEN: token } = env;
  if (named) return new Secret(readSecretFlag('REMORA_API_TOKEN_FILE', named, out));
  return token ? new Secret(token) : undefined;
}
