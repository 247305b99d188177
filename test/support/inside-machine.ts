// A machine that can be reached into, and the environment with which the command reaches it: from within, from elsewhere with a
// token, and from the machine of the platform.
import { openAgentMachine } from './agent-machine.ts';

export async function openInsideMachine() {
  const machine = await openAgentMachine({ trustMachines: true });
  const { platform, socket } = machine;
  const elsewhere = {
    HOME: '/nonexistent',
    REMORA_URL: platform.url,
    REMORA_API_TOKEN: platform.token.reveal(),
    REMORA_SPRITE: 'dev-1',
  };
  const beside = { HOME: '/nonexistent', REMORA_PLATFORM_DIR: platform.dir, REMORA_SPRITE: 'dev-1' };
  return { machine, within: { HOME: '/nonexistent', REMORA_SOCKET: socket }, elsewhere, beside };
}
