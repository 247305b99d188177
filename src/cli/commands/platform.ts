// `remora platform`: the control plane until a signal, or a new vault key.
import { existsSync, writeFileSync } from 'node:fs';
import { pino } from 'pino';
import { parseDuration } from '../../contract/duration.ts';
import { RECONNECT_SPREAD_MAX_MS } from '../../core/reconnect-spread.ts';
import { randomHex } from '../../core/urandom.ts';
import { openPlatform, type Platform } from '../../platform/platform.ts';
import { agentProgram } from '../agent-program.ts';
import type { Invocation } from '../command.ts';
import { exitCode, UsageError } from '../exit-code.ts';
import { parsePort } from '../number-flag.ts';
import { readPlatformKeys } from '../platform-keys.ts';
import { openStopSignals } from '../stop-signals.ts';

const DEFAULT_DIR = '/var/lib/remora-platform';
const DEFAULT_PORT = 4_180;
const KEY_BYTES = 32;

export async function run(invocation: Invocation): Promise<number> {
  const [word] = invocation.operands;
  if (word === 'key') {
    invocation.out.line(randomHex(KEY_BYTES));
    return exitCode.ok;
  }
  if (word !== undefined) throw new UsageError(`platform: there is nothing called ${word}; only key`);
  return await serve(invocation);
}

async function serve({ text, env, version }: Invocation): Promise<number> {
  const organization = text('organization');
  const tokenFile = text('token-file');
  if ((organization === undefined) !== (tokenFile === undefined)) {
    throw new UsageError('platform: --organization and --token-file belong together');
  }
  const log = pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime });
  using stop = openStopSignals(env);
  await using platform = await openPlatform({
    dir: text('dir') ?? env.REMORA_PLATFORM_DIR ?? DEFAULT_DIR,
    keys: readPlatformKeys(text('key-file'), env),
    listen: { host: text('host') ?? '127.0.0.1', port: parsePort(text('port'), DEFAULT_PORT) },
    agentCommand: agentProgram,
    reconnectSpread_ms: toSpread(text('reconnect-spread') ?? '0'),
    version,
    log,
  });
  if (organization !== undefined && tokenFile !== undefined) writeToken(platform, organization, tokenFile);
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
function writeToken({ admin }: Platform, organization: string, path: string): void {
  if (!admin.hasOrganization(organization)) admin.createOrganization(organization);
  if (existsSync(path)) return;
  writeFileSync(path, `${admin.createToken({ organization }).reveal()}\n`, { mode: 0o600, flag: 'wx' });
}
