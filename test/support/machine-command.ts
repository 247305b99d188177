// What a machine of the tests runs.
import { toCompileCacheVariable } from '../../src/linux/compile-cache.ts';

/** The command that runs machine-process.ts. */
export function machineCommand(...args: readonly string[]) {
  const script = new URL('machine-process.ts', import.meta.url).pathname;
  return { command: process.execPath, args: [script, ...args], env: () => ({ ...toCompileCacheVariable() }) };
}
