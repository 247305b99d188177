// Runs the daemon as a process: reads the settings, opens the log, serves until a signal, and drains.
import { flushCompileCache } from 'node:module';
import { RESTART_EXIT_CODE } from '../core/restart.ts';
import { takeInheritedSockets } from '../http/inherited-sockets.ts';
import { isService, openLink } from '../linux/systemd/open-link.ts';
import type { ServiceLink } from '../linux/systemd/service-link.ts';
import { takeVariable } from '../linux/take-variable.ts';
import { openAgent, type RunningAgent } from './agent.ts';
import { createLog, type LeveledLog, type LogStream } from './agent-log.ts';
import { createLiveConfig, type LiveConfig } from './config/live-config.ts';
import type { Config, ConfigWarning } from './config/load-config.ts';
import { readSettings } from './config/read-settings.ts';
import { endForRestart } from './end-for-restart.ts';
import { type ProcessEnd, watchProcessEnd } from './process-end.ts';
import type { RestartCause } from './restart/restart-cause.ts';
import { takeRestartState } from './restart/restart-file.ts';

/** What the end of the process may take beyond the drain of its callers, for databases to close and hooks to end. */
const GRACE_MS = 2_000;

const NOT_ERASED: ConfigWarning = {
  setting: 'REMORA_TOKEN',
  message: 'it can still be read in /proc by processes of this user; give REMORA_TOKEN_FILE or a systemd credential',
};

const NOT_STARTED_AGAIN = 'nobody is known to start the agent again, so that the process is kept; see started_again';

export interface RunAgentOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Values of flags by TOML key. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  /** Path of the config file. When absent: REMORA_CONFIG, else `/etc/remora/agent.toml` if it exists. */
  readonly configPath?: string;
  readonly version: string;
  /** Receives the log in place of standard error. */
  readonly logDestination?: LogStream | undefined;
}

/**
 * Runs until SIGTERM or SIGINT, then drains and resolves with the exit code. A second signal ends the process at once. Throws
 * ConfigError with every problem of the settings, and ListenError when a socket cannot be opened; nothing serves then. After a
 * resume that may have cloned the machine, if a setting says so, and for an upgrade, it drains as well and resolves with
 * RESTART_EXIT_CODE.
 */
export async function runAgent(options: RunAgentOptions): Promise<number> {
  const { env } = options;
  const given = takeVariable(env, 'REMORA_TOKEN');
  const reader = { token: given.value, warnings: given.isErased ? [] : [NOT_ERASED] };
  const live = createLiveConfig(readConfig(options, reader));
  const { config } = live;
  const log = createLog(config.logLevel, options.logDestination);
  const end = watchProcessEnd(log, () => config.shutdown_ms + GRACE_MS);
  try {
    return await serve({ ...options, live, reader, log, end });
  } finally {
    end.finish();
  }
}

interface Service extends RunAgentOptions {
  readonly live: LiveConfig;
  readonly reader: ConfigReader;
  readonly log: LeveledLog;
  readonly end: ProcessEnd;
}

/** Serves until a signal or a restart, then drains. */
async function serve(service: Service): Promise<number> {
  const { env, version, live, log, end } = service;
  const { config } = live;
  const { signal } = end;
  let agent: RunningAgent | undefined;
  using link = await openServiceLink(service, () => agent);
  const inherited = takeInheritedSockets(env, process.pid);
  let due = Promise.withResolvers<RestartCause>();
  const onRestart = (why: RestartCause) => due.resolve(why);
  const restartState = takeRestartState(config.stateDir);
  const onStatus = link?.noteChange;
  agent = await openAgent({ config, log, env, inherited, restartState, onRestart, version, signal, onStatus });
  end.beforeCrash(agent.abandon);
  await link?.serve(agent);
  log.info({ addresses: agent.addresses, warnings: config.warnings }, 'serving');
  // Node writes the compile cache at a normal exit only. A daemon that is killed would leave none for the next start.
  flushCompileCache();
  while (!signal.aborted) {
    const why = await Promise.race([end.stopped, due.promise]);
    due = Promise.withResolvers<RestartCause>();
    if (why === undefined) break;
    if (await endForRestart({ agent, why, stateDir: config.stateDir, log, signal, link })) return RESTART_EXIT_CODE;
  }
  await link?.stop();
  await agent[Symbol.asyncDispose]();
  return 0;
}

/** Undefined where nobody wants to be told. */
async function openServiceLink(
  service: Service,
  running: () => RunningAgent | undefined,
): Promise<ServiceLink | undefined> {
  const { env, live, reader, log } = service;
  if (!isService(env)) return undefined;
  const { createReload } = await import('./systemd/reload.ts');
  const read = (variables: NodeJS.ProcessEnv) => readConfig({ ...service, env: variables }, reader);
  const reload = createReload({ env, live, read, log, note: (fault) => running()?.noteSettings(fault) });
  return openLink(env, { log, reload });
}

/** What does not change between two readings of the settings. */
interface ConfigReader {
  /** The token of the environment, which was taken out of it. */
  readonly token: string | undefined;
  readonly warnings: readonly ConfigWarning[];
}

function readConfig({ configPath, env, flags }: RunAgentOptions, { token, warnings }: ConfigReader): Config {
  const loaded = readSettings({ configPath, env: { ...env, REMORA_TOKEN: token }, flags });
  const config = { ...loaded, warnings: [...warnings, ...loaded.warnings] };
  if (config.resumeRng === 'keep' || config.startedAgain) return config;
  return { ...config, warnings: [...config.warnings, { setting: 'resume.rng', message: NOT_STARTED_AGAIN }] };
}
