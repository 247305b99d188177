// Merges settings from four sources into one value: defaults < TOML file < REMORA_* variables < flags. All malformed settings are
// reported at once; unknown or misplaced ones become warnings, and the agent starts without them.

import { toFieldProblem } from '../../contract/field-problem.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import { Secret } from '../../core/secret.ts';
import { withoutBrackets } from '../../core/without-brackets.ts';
import { isLoopback } from '../../http/is-loopback.ts';
import { ENVIRONMENT_FILE } from './environment-file.ts';
import { type Setting, type SettingName, type SettingValues, settings } from './settings.ts';

export interface ConfigWarning {
  readonly setting: string;
  readonly message: string;
}

export type Config = SettingValues & {
  readonly token: Secret | undefined;
  /** The settings that were given and not used, for /v1/ready and /v1/status. */
  readonly warnings: readonly ConfigWarning[];
};

export interface ConfigSources {
  /** The parsed TOML file, if there is one. */
  readonly file?: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Values of flags by TOML key. */
  readonly flags?: Readonly<Record<string, string | undefined>>;
  /** Reads a token file; throws when it cannot be read. */
  readonly readFile: (path: string) => string;
  readonly exists: (path: string) => boolean;
  /** Whether every user may read a file; unknown when absent. */
  readonly mayOthersRead?: (path: string) => boolean;
}

/** Thrown with all problems at once, before anything is opened. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `the settings cannot be used:${problems.length === 1 ? ` ${problems[0]}` : problems.map((problem) => `\n  ${problem}`).join('')}`,
    );
    this.problems = problems;
  }
}

/** Variables that other software sets; each is the value of its setting when that is absent. */
const borrowed: Readonly<Partial<Record<SettingName, string>>> = {
  app: 'FLY_APP_NAME',
  machine: 'FLY_MACHINE_ID',
  stateDir: 'STATE_DIRECTORY',
};
const MACHINES_SOCKET = '/.fly/api';
const CREDENTIAL = 'remora-token';
/** Variables with the prefix `REMORA_` that are not settings of the agent. */
const otherVariables = new Set(['REMORA_TOKEN', 'REMORA_CONFIG', ENVIRONMENT_FILE]);

export function loadConfig(sources: ConfigSources): Config {
  const problems: string[] = [];
  const warnings: ConfigWarning[] = [];
  const file = flatten(sources.file ?? {});
  const values: Record<string, unknown> = {};

  for (const [name, row] of Object.entries(settings) as [SettingName, Setting][]) {
    const given = pick(name, row, file, sources);
    if (given === undefined) continue;
    const parsed = row.schema.safeParse(given.text, { error: toFieldProblem });
    if (parsed.success) values[name] = parsed.data;
    else
      problems.push(
        `${given.where}: ${parsed.error.issues.map((issue) => issue.message).join(', ')} (is ${shown(given.text)})`,
      );
  }
  warnings.push(...unknownSettings(file, sources.env));
  if (problems.length > 0) throw new ConfigError(problems);

  const token = readToken(values.tokenFile, sources, warnings);
  if (file.has('token')) {
    warnings.push({
      setting: 'token',
      message: 'a token in the config file is not read; give token_file or REMORA_TOKEN',
    });
  }
  const config = { ...(values as SettingValues), token, warnings };
  if (token !== undefined) warnings.push(...overPlainHttp(config));
  return config;
}

/** Warns of URLs over which the token would cross a network unencrypted. */
function overPlainHttp({ baseUrl, machinesApi, plainHttpHosts }: SettingValues): ConfigWarning[] {
  const api = machinesApi !== undefined && 'origin' in machinesApi ? machinesApi.origin : undefined;
  const addresses = { base_url: baseUrl, machines_api: api };
  return Object.entries(addresses).flatMap(([setting, address]) => {
    if (address === undefined || !address.startsWith('http:')) return [];
    const host = withoutBrackets(new URL(address).hostname);
    if (isLoopback(host) || plainHttpHosts.includes(host)) return [];
    return [{ setting, message: 'the token is sent over plain http; use an https URL' }];
  });
}

function pick(name: SettingName, row: Setting, file: ReadonlyMap<string, string>, sources: ConfigSources) {
  const flag = sources.flags?.[row.key];
  if (flag !== undefined) return { text: flag, where: `--${row.key.replaceAll(/[._]/g, '-')}` };
  const variable = sources.env[row.env];
  if (variable !== undefined && variable !== '') return { text: variable, where: row.env };
  const written = file.get(row.key);
  if (written !== undefined) return { text: written, where: `${row.key} in the config file` };
  const other = borrowed[name];
  const lent = other === undefined ? undefined : sources.env[other];
  if (other !== undefined && lent !== undefined && lent !== '') return { text: lent, where: other };
  if (name === 'machinesApi' && sources.exists(MACHINES_SOCKET))
    return { text: `unix:${MACHINES_SOCKET}`, where: MACHINES_SOCKET };
  return row.fallback === undefined ? undefined : { text: row.fallback, where: `the default of ${row.env}` };
}

/** The value as it may be printed: a URL without its user and password. */
function shown(text: string): string {
  return JSON.stringify(text.replace(/\/\/[^/]*@/, '//[secret]@'));
}

function readToken(tokenFile: unknown, sources: ConfigSources, warnings: ConfigWarning[]): Secret | undefined {
  const given = sources.env.REMORA_TOKEN?.trim();
  if (given !== undefined && given !== '') return checkToken(given, 'REMORA_TOKEN', warnings);
  const directory = sources.env.CREDENTIALS_DIRECTORY;
  const credential = directory === undefined ? undefined : `${directory}/${CREDENTIAL}`;
  const path =
    typeof tokenFile === 'string'
      ? tokenFile
      : credential !== undefined && sources.exists(credential)
        ? credential
        : undefined;
  if (path === undefined) return undefined;
  // A systemd credential is in a directory that only the agent may enter.
  if (path === tokenFile && sources.mayOthersRead?.(path) === true) {
    warnings.push({ setting: 'token_file', message: `others may read ${path}; it is used; chmod 600 ${path}` });
  }
  try {
    return checkToken(sources.readFile(path).trim(), path, warnings);
  } catch (error) {
    const reason = toErrorMessage(error);
    warnings.push({ setting: 'token_file', message: `the token cannot be read: ${reason}` });
    return undefined;
  }
}

function checkToken(text: string, where: string, warnings: ConfigWarning[]): Secret | undefined {
  if (/^[\x21-\x7e]+$/.test(text)) return new Secret(text);
  const message = text === '' ? `${where} is empty` : `${where} has characters that a token cannot have`;
  warnings.push({ setting: where === 'REMORA_TOKEN' ? where : 'token_file', message });
  return undefined;
}

function unknownSettings(file: ReadonlyMap<string, string>, env: ConfigSources['env']): ConfigWarning[] {
  const rows = Object.values(settings);
  const keys = new Set<string>([...rows.map((row) => row.key), 'token']);
  const variables = new Set<string>([...rows.map((row) => row.env), ...otherVariables]);
  const inFile = [...file.keys()].filter((key) => !keys.has(key));
  const inEnv = Object.keys(env).filter((name) => name.startsWith('REMORA_') && !variables.has(name));
  return [...inFile, ...inEnv].map((setting) => ({ setting, message: 'there is no such setting; it is ignored' }));
}

function flatten(table: Readonly<Record<string, unknown>>, prefix = ''): Map<string, string> {
  const flat = new Map<string, string>();
  for (const [name, value] of Object.entries(table)) {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      for (const [key, text] of flatten(value as Record<string, unknown>, `${prefix}${name}.`)) flat.set(key, text);
    } else flat.set(prefix + name, String(value));
  }
  return flat;
}
