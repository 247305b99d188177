// The program that a machine of the process driver runs: this one, as `agent`, on the Node that runs it now.
export const agentProgram = {
  command: process.execPath,
  args: [new URL('./remora.js', import.meta.url).pathname, 'agent'],
} as const;
