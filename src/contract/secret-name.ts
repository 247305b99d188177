// Which variables of the environment may be secrets of an app, and what their values may be. One list for operators and for providers.
import * as z from './lazy-zod.ts';

/** The longest value, in bytes of UTF-8. */
export const SECRET_VALUE_MAX_BYTES = 65_536;
/**
 * The most that all secrets of an app may have together, in bytes as `execve` counts them: it takes 2 MB of arguments and environment
 * with the usual stack of 8 MB, and every program that a service starts inherits them.
 */
export const APP_SECRETS_MAX_BYTES = 262_144;
export const APP_SECRETS_MAX = 256;

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
const NAME_RULE = 'expected 1 to 128 letters, digits and underscores, with no digit first';

/**
 * These decide what a program loads or starts, whom it trusts, where it finds its files, or whom it takes itself for: who may set them in
 * a process runs code in it. Remora and the machine set the others of the list.
 */
const refusedNames = new Set([
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'PWD',
  'OLDPWD',
  'CDPATH',
  'ENV',
  'BASH_ENV',
  'BASHOPTS',
  'SHELLOPTS',
  'PROMPT_COMMAND',
  'PS4',
  'IFS',
  'TMPDIR',
  'ZDOTDIR',
  'GCONV_PATH',
  'GLIBC_TUNABLES',
  'LOCPATH',
  'HOSTALIASES',
  'JAVA_TOOL_OPTIONS',
  'JDK_JAVA_OPTIONS',
  '_JAVA_OPTIONS',
  'DOTNET_STARTUP_HOOKS',
  'PERLLIB',
  'PHPRC',
  'PHP_INI_SCAN_DIR',
  'LUA_PATH',
  'LUA_CPATH',
  'CURL_CA_BUNDLE',
  'REQUESTS_CA_BUNDLE',
  'EDITOR',
  'VISUAL',
  'PAGER',
  'BROWSER',
  'LESSOPEN',
  'LESSCLOSE',
]);
const refusedPrefixes = [
  'LD_',
  'DYLD_',
  'NODE_',
  'NPM_',
  'PYTHON',
  'PERL5',
  'RUBY',
  'GIT_',
  'SSH_',
  'SSL_',
  'OPENSSL_',
  'LUA_INIT',
  'FLY_',
  'REMORA_',
];

/** Why a name cannot be that of a secret, in words that follow the name; undefined when it can. */
export function whyNotSecretName(name: string): string | undefined {
  if (!NAME.test(name)) return NAME_RULE;
  const isRefused =
    refusedNames.has(name) || refusedPrefixes.some((prefix) => name.startsWith(prefix)) || /_proxy$/i.test(name);
  return isRefused ? 'is not taken: it decides what programs load, trust or find; choose another name' : undefined;
}

/** The name of a secret that may be there already. */
export const knownSecretName = z.string().regex(NAME, NAME_RULE);

/** The name of a secret that is set. */
export const secretName = z.string().check((context) => {
  const message = whyNotSecretName(context.value);
  if (message !== undefined) context.issues.push({ code: 'custom', message, input: context.value });
});

/** What the environment of a process can hold. */
export const secretValue = z
  .string()
  .refine((value) => !value.includes('\0'), { error: 'has a NUL character' })
  .refine((value) => value.isWellFormed(), { error: 'is no well-formed text' })
  .refine((value) => toBytes(value) <= SECRET_VALUE_MAX_BYTES, {
    error: `is longer than ${SECRET_VALUE_MAX_BYTES} bytes`,
  });

/** How many bytes a variable takes in the environment of a process. */
export function toVariableBytes(name: string, value: string): number {
  return toBytes(name) + toBytes(value) + 2;
}

function toBytes(text: string): number {
  return new TextEncoder().encode(text).length;
}
