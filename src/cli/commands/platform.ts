// `remora platform`: the control plane until a signal; with words after it, what an operator does beside it.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDuration } from '../../contract/duration.ts';
import { RECONNECT_SPREAD_MAX_MS } from '../../core/reconnect-spread.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Secret } from '../../core/secret.ts';
import { randomHex } from '../../core/urandom.ts';
import { type OfflineAdmin, openOfflineAdmin } from '../../platform/offline-admin.ts';
import { createPlatformLog } from '../../platform/operations/platform-log.ts';
import { openPlatform, type Platform } from '../../platform/platform.ts';
import { backupDatabase } from '../../sqlite/backup.ts';
import { agentProgram } from '../agent-program.ts';
import type { Invocation } from '../command.ts';
import { exitCode, UsageError } from '../exit-code.ts';
import { parsePort } from '../number-flag.ts';
import { readDatabaseUrl } from '../platform/database-url.ts';
import { readLimitFlags } from '../platform/limit-flags.ts';
import { readProviderFile } from '../platform/provider-file.ts';
import { recordCommands } from '../platform/record-commands.ts';
import { readPlatformKeys } from '../platform-keys.ts';
import { openStopSignals } from '../stop-signals.ts';
import { toTable } from '../table.ts';

const DEFAULT_DIR = '/var/lib/remora-platform';
const DEFAULT_PORT = 4_180;
const KEY_BYTES = 32;
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'];

function toLogLevel(given = 'info'): string {
  if (LEVELS.includes(given)) return given;
  throw new UsageError(`--log-level takes one of ${LEVELS.join(', ')}, not ${given}`);
}

export async function run(invocation: Invocation): Promise<number> {
  const [word, ...rest] = invocation.operands;
  switch (word) {
    case undefined:
      return await serve(invocation);
    case 'key':
      checkOperands(word, [], rest);
      invocation.out.line(randomHex(KEY_BYTES));
      return exitCode.ok;
    case 'backup': {
      checkOperands(word, ['FILE'], rest);
      if (toDatabase(invocation).database !== undefined) {
        throw new UsageError('platform backup copies the file of SQLite; a PostgreSQL database is copied with pg_dump');
      }
      const { path, bytes } = await backupDatabase(join(toDir(invocation), 'platform.db'), rest[0] ?? '');
      invocation.out.line(`${path}: ${bytes} bytes; it opens with the vault keys, which are not in it`);
      return exitCode.ok;
    }
    case 'rotate': {
      checkOperands(word, [], rest);
      await using offline = await openAdmin(invocation);
      const { rotated, unreadable } = await offline.rotateKeys();
      invocation.out.line(`${rotated} credentials are closed with the first key now`);
      for (const id of unreadable)
        invocation.out.note(`the credential of ${id} opens with none of the keys; it was left`);
      return unreadable.length === 0 ? exitCode.ok : exitCode.failed;
    }
    case 'host':
      return await changeHosts(invocation, rest);
    default:
      return await changeRecords(invocation, word);
  }
}

/** Of several platform processes on one database. */
async function changeHosts(invocation: Invocation, [verb, ...operands]: readonly string[]): Promise<number> {
  if (verb !== 'list' && verb !== 'forget') throw new UsageError('platform host: expected list, or forget HOST');
  checkOperands(`host ${verb}`, verb === 'list' ? [] : ['HOST'], operands);
  await using offline = await openAdmin(invocation);
  const { out } = invocation;
  if (verb === 'forget') {
    const host = operands[0] ?? '';
    await offline.forgetHost(host);
    out.line(`${host} is forgotten; its machines are stopped, and start on whichever host is asked`);
    return exitCode.ok;
  }
  const rows = (await offline.listHosts()).map(({ host, machines }) => [host, String(machines)]);
  for (const line of toTable([['HOST', 'MACHINES'], ...rows])) out.line(line);
  return exitCode.ok;
}

async function changeRecords(invocation: Invocation, word: string): Promise<number> {
  const [, verb, ...operands] = invocation.operands;
  const command = Object.hasOwn(recordCommands, `${word} ${verb}`) ? recordCommands[`${word} ${verb}`] : undefined;
  if (command === undefined) {
    const known = ['key', 'rotate', 'backup', 'host list', 'host forget', ...Object.keys(recordCommands)].join(', ');
    throw new UsageError(`platform: there is nothing called ${[word, verb].join(' ').trim()}; there are ${known}`);
  }
  checkOperands(`${word} ${verb}`, command.operands, operands);
  await using offline = await openAdmin(invocation);
  for (const line of toTable(await command.run(offline.admin, operands, invocation))) invocation.out.line(line);
  return exitCode.ok;
}

function checkOperands(name: string, expected: readonly string[], given: readonly string[]): void {
  if (given.length === expected.length) return;
  throw new UsageError(`platform ${name}: expected ${expected.length === 0 ? 'nothing more' : expected.join(' ')}`);
}

function toDir({ text, env }: Invocation): string {
  return text('dir') ?? env.REMORA_PLATFORM_DIR ?? DEFAULT_DIR;
}

function toDatabase({ text, env }: Invocation): { database?: Secret } {
  const database = readDatabaseUrl(text('database'), env);
  return database === undefined ? {} : { database };
}

function openAdmin(invocation: Invocation): Promise<OfflineAdmin> {
  const { text, env } = invocation;
  const note = (fields: object, message: string) => invocation.out.note(`${message} ${JSON.stringify(fields)}`);
  const providers = text('providers');
  return openOfflineAdmin({
    dir: toDir(invocation),
    ...toDatabase(invocation),
    keys: readPlatformKeys(text('key-file'), env),
    platformUrl: text('public-url') ?? `http://127.0.0.1:${DEFAULT_PORT}`,
    ...(providers === undefined ? {} : { catalogue: readProviderFile(providers).catalogue }),
    log: { info: note, error: note },
  });
}

async function serve(invocation: Invocation): Promise<number> {
  const { text, env, version, has } = invocation;
  const organization = text('organization');
  const tokenFile = text('token-file');
  if ((organization === undefined) !== (tokenFile === undefined)) {
    throw new UsageError('platform: --organization and --token-file belong together');
  }
  const log = createPlatformLog(toLogLevel(text('log-level')));
  const providers = text('providers');
  const publicUrl = text('public-url');
  const environmentVersion = text('environment-version');
  using stop = openStopSignals(env);
  await using platform = await openPlatform({
    dir: toDir(invocation),
    ...toDatabase(invocation),
    keys: readPlatformKeys(text('key-file'), env),
    listen: { host: text('host') ?? '127.0.0.1', port: parsePort(text('port'), DEFAULT_PORT) },
    agentCommand: agentProgram,
    reconnectSpread_ms: toSpread(text('reconnect-spread') ?? '0'),
    verifyKeys: has('verify-keys'),
    ...readLimitFlags(text),
    ...(environmentVersion === undefined ? {} : { environmentVersion }),
    ...(providers === undefined ? {} : readProviderFile(providers)),
    ...(publicUrl === undefined ? {} : { publicUrl }),
    version,
    log,
  });
  if (organization !== undefined && tokenFile !== undefined) await writeToken(platform, organization, tokenFile);
  log.info({ url: platform.url }, 'serving');
  await stop.stopped;
  log.info({}, 'stopping');
  return exitCode.ok;
}

function toSpread(text: string): number {
  const spread_ms = parseDuration(text);
  if (spread_ms !== undefined && spread_ms <= RECONNECT_SPREAD_MAX_MS) return spread_ms;
  throw new UsageError(`platform: --reconnect-spread takes a time up to 5m such as 10s, not ${text}`);
}

/** A file that is there is left as it is: it holds the token of an earlier start, which goes on being good. */
async function writeToken({ admin }: Platform, organization: string, path: string): Promise<void> {
  if (!(await admin.hasOrganization(organization))) await createOrganization(admin, organization);
  if (existsSync(path)) return;
  writeFileSync(path, `${(await admin.createToken({ organization })).reveal()}\n`, { mode: 0o600, flag: 'wx' });
}

/** Another platform on the same database may be doing this too. */
async function createOrganization(admin: Platform['admin'], organization: string): Promise<void> {
  try {
    await admin.createOrganization(organization);
  } catch (error) {
    if (!(error instanceof RemoraError) || error.code !== 'already_exists') throw error;
  }
}
