// The program that a machine of the process driver runs: this one, as `agent`, on the Node that runs it now, with the flags of
// the systemd unit: little memory counts more than a quick collection of much garbage.
export const agentProgram = {
  command: process.execPath,
  args: ['--max-semi-space-size=1', '--v8-pool-size=1', new URL('./remora.js', import.meta.url).pathname, 'agent'],
} as const;
