// The daemon as a process: settings, signals, one log, and the only place where the process ends.
import { existsSync, readFileSync } from 'node:fs';
import { parse as parseToml } from 'smol-toml';
import { takeInheritedSockets } from '../http/listen.ts';
import { openAgent } from './agent.ts';
import { ConfigError, loadConfig } from './config/load-config.ts';
import { createLog } from './log.ts';
import { notifySystemd } from './sd-notify.ts';

const DEFAULT_CONFIG = '/etc/remora/agent.toml';

export interface RunAgentOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Values of flags by TOML key. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  /** The config file; else REMORA_CONFIG, else `/etc/remora/agent.toml` if it exists. */
  readonly configPath?: string;
  readonly version: string;
}

/**
 * Runs until SIGTERM or SIGINT, then drains and resolves with the exit code. A second signal ends the process at once. Throws
 * ConfigError with every problem of the settings, and ListenError when the socket cannot be had, before anything runs.
 */
export async function runAgent(options: RunAgentOptions): Promise<number> {
  const { env } = options;
  const configPath =
    options.configPath ?? env.REMORA_CONFIG ?? (existsSync(DEFAULT_CONFIG) ? DEFAULT_CONFIG : undefined);
  const config = loadConfig({
    ...(configPath === undefined ? {} : { file: readToml(configPath) }),
    env,
    flags: options.flags,
    readFile: (path) => readFileSync(path, 'utf8'),
    exists: existsSync,
  });
  delete env.REMORA_TOKEN;
  const log = createLog(config.logLevel);
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(1);
      log.info({ signal }, 'stopping');
      stop.abort();
    });
  }
  process.on('uncaughtException', (error) => log.error({ err: error }, 'an error reached the top; serving on'));
  process.on('unhandledRejection', (error) => log.error({ err: error }, 'a rejection reached the top; serving on'));

  const inherited = takeInheritedSockets(env, process.pid);
  const agent = await openAgent({ config, log, env, inherited, version: options.version, signal: stop.signal });
  const unheard = await notifySystemd(env, { ready: true, status: `serving on ${agent.addresses.join(', ')}` });
  if (unheard !== undefined) log.warn(unheard);
  log.info({ addresses: agent.addresses, warnings: config.warnings }, 'serving');
  await new Promise<void>((resolve) => stop.signal.addEventListener('abort', () => resolve(), { once: true }));
  await notifySystemd(env, { stopping: true });
  const deadline = setTimeout(() => process.exit(1), config.shutdown_ms + 2_000);
  await agent[Symbol.asyncDispose]();
  clearTimeout(deadline);
  return 0;
}

function readToml(path: string): Record<string, unknown> {
  try {
    return parseToml(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new ConfigError([`${path}: ${error instanceof Error ? error.message : String(error)}`]);
  }
}
