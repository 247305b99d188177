// Runs the daemon as a process: reads the settings, opens the log, serves until a signal, and drains.
import { flushCompileCache } from 'node:module';
import type { Log } from '../core/log.ts';
import { takeInheritedSockets } from '../http/inherited-sockets.ts';
import { notifySystemd } from '../linux/sd-notify.ts';
import { takeVariable } from '../linux/take-variable.ts';
import { openAgent } from './agent.ts';
import { createLog } from './agent-log.ts';
import type { Config, ConfigWarning } from './config/load-config.ts';
import { readSettings } from './config/read-settings.ts';
import { whyNoDescriptors } from './hot-restart/descriptors.ts';
import { readRestartState } from './hot-restart/read-restart-state.ts';
import type { ReplaceCause } from './hot-restart/replace-cause.ts';
import type { RestartState } from './hot-restart/restart-state.ts';
import { type ProcessEnd, watchProcessEnd } from './process-end.ts';
import { replaceProcess } from './replace-process.ts';

/** What the end of the process may take beyond the drain of its callers, for databases to close and hooks to end. */
const GRACE_MS = 2_000;

const NOT_ERASED: ConfigWarning = {
  setting: 'REMORA_TOKEN',
  message: 'it can still be read in /proc by processes of this user; give REMORA_TOKEN_FILE or a systemd credential',
};

export interface RunAgentOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Values of flags by TOML key. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  /** Path of the config file. When absent: REMORA_CONFIG, else `/etc/remora/agent.toml` if it exists. */
  readonly configPath?: string;
  readonly version: string;
  /** Receives the log in place of standard error. */
  readonly logDestination?: { write(line: string): void } | undefined;
}

/**
 * Runs until SIGTERM or SIGINT, then drains and resolves with the exit code. A second signal ends the process at once. Throws
 * ConfigError with every problem of the settings, and ListenError when a socket cannot be opened; nothing serves then. After a
 * resume that may have cloned the machine it replaces the image of this process, if a setting says so, and for an upgrade, and does not
 * return.
 */
export async function runAgent(options: RunAgentOptions): Promise<number> {
  const { env } = options;
  const restartState = readRestartState(env, process.pid);
  const given = takeVariable(env, 'REMORA_TOKEN');
  const token = restartState?.token ?? given.value;
  const config = readConfig(options, token, given.isErased ? [] : [NOT_ERASED]);
  const log = createLog(config.logLevel, options.logDestination);
  const end = watchProcessEnd(log, config.shutdown_ms + GRACE_MS);
  try {
    await serve({ ...options, config, log, restartState, token, end });
    return 0;
  } finally {
    end.finish();
  }
}

interface Service extends RunAgentOptions {
  readonly config: Config;
  readonly log: Log;
  readonly restartState: RestartState | undefined;
  readonly token: string | undefined;
  readonly end: ProcessEnd;
}

/** Serves until a signal, then drains. */
async function serve({ env, version, config, log, restartState, token, end }: Service): Promise<void> {
  const { signal } = end;
  const inherited = takeInheritedSockets(env, process.pid);
  let due = Promise.withResolvers<ReplaceCause>();
  const causes = { onMaybeCloned: () => due.resolve('resume'), onUpgrade: () => due.resolve('upgrade') };
  const agent = await openAgent({ config, log, env, inherited, restartState, ...causes, version, signal });
  end.beforeCrash(agent.abandon);
  const unheard = await notifySystemd(env, { ready: true, status: `serving on ${agent.addresses.join(', ')}` });
  if (unheard !== undefined) log.warn({}, unheard);
  log.info({ addresses: agent.addresses, warnings: config.warnings }, 'serving');
  // Node writes the compile cache at a normal exit only. A daemon that is killed or replaced would leave none for the next start.
  flushCompileCache();
  while (!signal.aborted) {
    const why = await Promise.race([end.stopped, due.promise]);
    due = Promise.withResolvers<ReplaceCause>();
    if (why !== undefined && !signal.aborted) await replaceProcess({ agent, why, log, env, token, signal });
  }
  await notifySystemd(env, { stopping: true });
  await agent[Symbol.asyncDispose]();
}

function readConfig(
  { configPath, env, flags }: RunAgentOptions,
  token: string | undefined,
  warnings: readonly ConfigWarning[],
): Config {
  const loaded = readSettings({ configPath, env: { ...env, REMORA_TOKEN: token }, flags });
  const config = { ...loaded, warnings: [...warnings, ...loaded.warnings] };
  const why = config.resumeRng === 'reexec' ? whyNoDescriptors() : undefined;
  if (why === undefined) return config;
  const message = `sockets cannot be handed to a new image of the process: ${why}; it is kept`;
  return { ...config, warnings: [...config.warnings, { setting: 'resume.rng', message }] };
}
