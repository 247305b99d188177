// The program that a machine of the process driver runs: this one, as `agent`, on the Node that runs it now, with the flags of
// the systemd unit.
import { NODE_FLAGS } from '../core/node-flags.ts';

export const agentProgram = {
  command: process.execPath,
  args: [...NODE_FLAGS, new URL('./remora.js', import.meta.url).pathname, 'agent'],
} as const;
