// Ends a running machine: asks its system first, then ends its emulator.
import type { StopOptions } from '../machine-driver.ts';
import { endEmulator } from './emulator/emulator-session.ts';
import { askToPowerOff } from './guest/host-port.ts';
import type { Instance } from './instances.ts';

const QUIT_MS = 2_000;

/** `onStep` runs before each step. Resolves after the listeners of the exit have run. A machine is asked in one way, whatever `signal` names; `SIGKILL` asks nobody. */
export async function stopEmulator(
  instance: Instance,
  { signal, timeout_ms }: StopOptions,
  onStep: (step: string) => void,
): Promise<void> {
  const { over } = instance;
  const isGentle = signal !== 'SIGKILL' && timeout_ms > 0;
  if (isGentle) onStep('ask the machine to end');
  using _asked = isGentle ? await askToPowerOff(instance.files.dir).catch(() => undefined) : undefined;
  const quit = setTimeout(() => void end(instance, onStep).catch(() => undefined), isGentle ? timeout_ms : 0);
  try {
    await over;
  } finally {
    clearTimeout(quit);
  }
}

/** `quit` lets the emulator write what it holds for the disk. */
async function end({ qmp, process, over }: Instance, onStep: (step: string) => void): Promise<void> {
  onStep('end the emulator');
  await qmp.execute('quit').catch(() => undefined);
  const timer = setTimeout(() => void endEmulator(process).catch(() => undefined), QUIT_MS);
  await over.finally(() => clearTimeout(timer));
}
