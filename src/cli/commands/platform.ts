// `remora platform`: runs the control plane until a signal.
import { existsSync, writeFileSync } from 'node:fs';
import { parseDuration } from '../../contract/duration.ts';
import type { Log } from '../../core/log.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { RECONNECT_SPREAD_MAX_MS } from '../../core/resume/reconnect-spread.ts';
import { isService, openLink } from '../../linux/systemd/open-link.ts';
import { createPlatformLog } from '../../platform/observability/platform-log.ts';
import { openPlatform, type Platform } from '../../platform/platform.ts';
import { agentProgram } from '../agent-program.ts';
import type { Invocation } from '../command.ts';
import { exitCode, UsageError } from '../exit-code.ts';
import { openLogDestination } from '../log-destination.ts';
import { parsePort } from '../number-flag.ts';
import { toDatabase } from '../platform/database-url.ts';
import { letHeapGrow } from '../platform/heap-growth.ts';
import { readLimitFlags } from '../platform/limit-flags.ts';
import { readMailFlags } from '../platform/mail-flags.ts';
import { type MetricsFlags, readMetricsFlags } from '../platform/metrics-flags.ts';
import { DEFAULT_PLATFORM_PORT, toPlatformDir } from '../platform/platform-dir.ts';
import { readPlatformKeys } from '../platform/platform-keys.ts';
import { readProviderFile } from '../platform/provider-file.ts';
import { readProxyFlags } from '../platform/proxy-flags.ts';
import { readQemuFlags } from '../platform/qemu-flags.ts';
import { readIdleFlags } from '../platform/read-idle-flags.ts';
import { readSignInFlags } from '../platform/sign-in-flags.ts';
import { openStopSignals } from '../stop-signals.ts';

const START_DEADLINE_MAX_MS = 600_000;
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'];

function toLogLevel(given = 'info'): string {
  if (LEVELS.includes(given)) return given;
  throw new UsageError(`--log-level takes one of ${LEVELS.join(', ')}, not ${given}`);
}

export async function run(invocation: Invocation): Promise<number> {
  letHeapGrow();
  const { text, env, version, has } = invocation;
  const organization = text('organization');
  const tokenFile = text('token-file');
  if ((organization === undefined) !== (tokenFile === undefined)) {
    throw new UsageError('platform: --organization and --token-file belong together');
  }
  const log = createPlatformLog(toLogLevel(text('log-level')), await openLogDestination(1, env, { holds: true }));
  const providers = text('providers');
  const qemu = readQemuFlags(text);
  const publicUrl = text('public-url');
  const environmentVersion = text('environment-version');
  using stop = openStopSignals(env, isService(env));
  const metrics = readMetricsFlags(text);
  using link = await openLink(env, { log, reload: () => readAgain(metrics, log) });
  await using platform = await openPlatform({
    dir: toPlatformDir(invocation),
    ...toDatabase(invocation),
    keys: readPlatformKeys(text('key-file'), env),
    listen: { host: text('host') ?? '127.0.0.1', port: parsePort(text('port'), DEFAULT_PLATFORM_PORT) },
    agentCommand: agentProgram,
    reconnectSpread_ms: toSpread(text('reconnect-spread') ?? '0'),
    verifyKeys: has('verify-keys'),
    endMachines: has('end-machines'),
    trustMachines: has('trust-machines'),
    ...toSnapshotMaxAge(text('snapshot-max-age')),
    ...toStartDeadline(text('start-deadline')),
    idle: readIdleFlags(text),
    ...(qemu === undefined ? {} : { qemu }),
    ...readLimitFlags(text),
    metrics: metrics.access,
    ...readProxyFlags(invocation),
    ...readMailFlags(invocation),
    ...readSignInFlags(text),
    ...(environmentVersion === undefined ? {} : { environmentVersion }),
    ...(providers === undefined ? {} : readProviderFile(providers)),
    ...(publicUrl === undefined ? {} : { publicUrl }),
    ...toHostAddress(text('host-address')),
    version,
    log,
  });
  if (organization !== undefined && tokenFile !== undefined) await writeToken(platform, organization, tokenFile);
  log.info({ url: platform.url }, 'serving');
  const { url } = platform;
  await link?.serve({ statusLine: () => `serving at ${url}`, answers: () => platform.answers() });
  await stop.stopped;
  log.info({}, 'stopping');
  await link?.stop();
  return exitCode.ok;
}

/** What a reload reads again. Everything else of a platform is in its database, or needs a restart. */
function readAgain(metrics: MetricsFlags, log: Log): void {
  try {
    metrics.readAgain();
    log.info({}, 'the token for /metrics was read again; flags and vault keys need a restart');
  } catch (err) {
    log.error({ err }, 'the token for /metrics cannot be used; the previous one is used');
  }
}

/** Throws UsageError for what is no origin. */
function toHostAddress(text: string | undefined): { hostAddress?: string } {
  if (text === undefined) return {};
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href)
    return { hostAddress: url.origin };
  throw new UsageError(`platform: --host-address takes a URL without a path such as http://10.0.0.7:4180, not ${text}`);
}

function toSpread(text: string): number {
  const spread_ms = parseDuration(text);
  if (spread_ms !== undefined && spread_ms <= RECONNECT_SPREAD_MAX_MS) return spread_ms;
  throw new UsageError(`platform: --reconnect-spread takes a time up to 5m such as 10s, not ${text}`);
}

function toSnapshotMaxAge(text: string | undefined): { snapshotMaxAge_ms?: number } {
  if (text === undefined) return {};
  const snapshotMaxAge_ms = parseDuration(text);
  if (snapshotMaxAge_ms !== undefined && snapshotMaxAge_ms >= 1_000) return { snapshotMaxAge_ms };
  throw new UsageError(`platform: --snapshot-max-age takes a time from 1s such as 24h, not ${text}`);
}

function toStartDeadline(text: string | undefined): { startDeadline_ms?: number } {
  if (text === undefined) return {};
  const startDeadline_ms = parseDuration(text);
  if (startDeadline_ms !== undefined && startDeadline_ms >= 1_000 && startDeadline_ms <= START_DEADLINE_MAX_MS) {
    return { startDeadline_ms };
  }
  throw new UsageError(`platform: --start-deadline takes a time from 1s to 10m such as 30s, not ${text}`);
}

/** An existing file stays: it holds the token of an earlier start, which is still good. */
async function writeToken({ admin }: Platform, organization: string, path: string): Promise<void> {
  if (!(await admin.hasOrganization(organization))) await createOrganization(admin, organization);
  if (existsSync(path)) return;
  writeFileSync(path, `${(await admin.createToken({ organization })).reveal()}\n`, { mode: 0o600, flag: 'wx' });
}

/** `already_exists` is no failure: another platform process may have made it at the same time. */
async function createOrganization(admin: Platform['admin'], organization: string): Promise<void> {
  try {
    await admin.createOrganization(organization);
  } catch (error) {
    if (!(error instanceof RemoraError) || error.code !== 'already_exists') throw error;
  }
}
