// The daemon as a process: settings, signals, one log, and the only place where the process ends.
import { existsSync, readFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { parse as parseToml } from 'smol-toml';
import { takeInheritedSockets } from '../http/listen.ts';
import { openAgent } from './agent.ts';
import { type Config, ConfigError, loadConfig } from './config/load-config.ts';
import { whyNoDescriptors } from './handover/descriptors.ts';
import { replaceImage } from './handover/replace-image.ts';
import { takeParcel } from './handover/take-parcel.ts';
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
 * ConfigError with every problem of the settings, and ListenError when the socket cannot be had, before anything runs. After a
 * resume that may have cloned the machine it replaces the image of this process, by setting, and does not return.
 */
export async function runAgent(options: RunAgentOptions): Promise<number> {
  const { env } = options;
  const parcel = takeParcel(env, process.pid);
  const token = parcel?.token ?? env.REMORA_TOKEN;
  const config = readConfig(options, token);
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
  const stopped = new Promise<void>((resolve) =>
    stop.signal.addEventListener('abort', () => resolve(), { once: true }),
  );
  process.on('uncaughtException', (error) => log.error({ err: error }, 'an error reached the top; serving on'));
  process.on('unhandledRejection', (error) => log.error({ err: error }, 'a rejection reached the top; serving on'));

  const inherited = takeInheritedSockets(env, process.pid);
  const { version } = options;
  let cloned = Promise.withResolvers<void>();
  const onMaybeCloned = () => cloned.resolve();
  const agent = await openAgent({ config, log, env, inherited, parcel, onMaybeCloned, version, signal: stop.signal });
  const unheard = await notifySystemd(env, { ready: true, status: `serving on ${agent.addresses.join(', ')}` });
  if (unheard !== undefined) log.warn(unheard);
  log.info({ addresses: agent.addresses, warnings: config.warnings }, 'serving');
  // A daemon that is killed, or replaced by its next image, would leave nothing for the next start.
  flushCompileCache();
  while (!stop.signal.aborted) {
    await Promise.race([stopped, cloned.promise]);
    cloned = Promise.withResolvers<void>();
    if (!stop.signal.aborted) await replaceImage({ agent, log, env, token, signal: stop.signal });
  }
  await notifySystemd(env, { stopping: true });
  const deadline = setTimeout(() => process.exit(1), config.shutdown_ms + 2_000);
  await agent[Symbol.asyncDispose]();
  clearTimeout(deadline);
  return 0;
}

function readConfig({ configPath, env, flags }: RunAgentOptions, token: string | undefined): Config {
  const path = configPath ?? env.REMORA_CONFIG ?? (existsSync(DEFAULT_CONFIG) ? DEFAULT_CONFIG : undefined);
  const config = loadConfig({
    ...(path === undefined ? {} : { file: readToml(path) }),
    env: { ...env, REMORA_TOKEN: token },
    flags,
    readFile: (file) => readFileSync(file, 'utf8'),
    exists: existsSync,
  });
  const why = config.resumeRng === 'reexec' ? whyNoDescriptors() : undefined;
  if (why === undefined) return config;
  const message = `sockets cannot be handed to a new image of the process: ${why}; it is kept`;
  return { ...config, warnings: [...config.warnings, { setting: 'resume.rng', message }] };
}

function readToml(path: string): Record<string, unknown> {
  try {
    return parseToml(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new ConfigError([`${path}: ${error instanceof Error ? error.message : String(error)}`]);
  }
}
