// The program that a machine of the process driver runs: this one, as `agent`, on the Node that runs it now, with the flags of
// the systemd unit. Large bodies leave buffers outside the heap, which only a frequent small collection gives back in time: with
// the default of 16 MB they cost two and a half times as much, and with 1 MB small calls cost a fifth more.
export const agentProgram = {
  command: process.execPath,
  args: ['--max-semi-space-size=2', '--v8-pool-size=1', new URL('./remora.js', import.meta.url).pathname, 'agent'],
} as const;
