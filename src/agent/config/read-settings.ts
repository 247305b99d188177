// Reads the settings of this machine: flags, variables and the config file.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type * as toml from 'smol-toml';
import { toErrorMessage } from '../../core/error-message.ts';
import { mayOthersRead } from '../../linux/may-others-read.ts';
import { type Config, ConfigError, type ConfigSources, loadConfig } from './load-config.ts';

const require = createRequire(import.meta.url);

const DEFAULT_CONFIG = '/etc/remora/agent.toml';

export interface SettingSources extends Pick<ConfigSources, 'env' | 'flags'> {
  /** Path of the config file. When absent: REMORA_CONFIG, else `/etc/remora/agent.toml` if it exists. */
  readonly configPath?: string | undefined;
}

/** Throws ConfigError with every problem of the settings. */
export function readSettings({ configPath, ...sources }: SettingSources): Config {
  const path = configPath ?? sources.env.REMORA_CONFIG ?? (existsSync(DEFAULT_CONFIG) ? DEFAULT_CONFIG : undefined);
  return loadConfig({
    ...(path === undefined ? {} : { file: readToml(path) }),
    ...sources,
    readFile: (file) => readFileSync(file, 'utf8'),
    exists: existsSync,
    mayOthersRead,
  });
}

function readToml(path: string): Record<string, unknown> {
  try {
    // Many machines have no such file.
    const { parse }: typeof toml = require('smol-toml');
    return parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new ConfigError([`${path}: ${toErrorMessage(error)}`]);
  }
}
