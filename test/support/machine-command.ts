// What a machine of the tests runs.

/** The command that runs machine-process.ts. */
export function machineCommand(...args: readonly string[]) {
  const script = new URL('machine-process.ts', import.meta.url).pathname;
  return { command: process.execPath, args: [script, ...args] };
}
