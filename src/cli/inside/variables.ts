// The variables that --env gives to a program elsewhere. Pure.
import { UsageError } from '../exit-code.ts';

export const variableFlag = {
  type: 'string',
  short: 'e',
  value: 'NAME=VALUE',
  multiple: true,
  summary: 'a variable, or NAME alone for the value that it has here; may be repeated',
} as const;

/** Each as `NAME=VALUE`. A value that only this environment has is in no list of processes. Throws UsageError. */
export function toVariables(given: readonly string[], env: NodeJS.ProcessEnv): readonly string[] {
  return given.map((text) => {
    const [, name = '', value = env[name]] = /^([A-Za-z_][A-Za-z0-9_]*)(?:=(.*))?$/s.exec(text) ?? [];
    if (name === '') throw new UsageError('--env takes NAME=VALUE, or NAME');
    if (value === undefined) throw new UsageError(`--env: there is no variable ${name} here; give ${name}=VALUE`);
    return `${name}=${value}`;
  });
}
