// Boots the disk of an image once, so that the compiled code of the agent is in it: without, an emulated machine needs a minute more.
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { RemoraError } from '../../../core/remora-error.ts';
import { runTool } from '../../../linux/processes/run-tool.ts';

export interface WarmUpOptions {
  readonly kernel: string;
  readonly initrd: string;
  /** The raw disk, which is changed. */
  readonly disk: string;
  readonly append: string;
  readonly cpu: string;
  /** Where it works; nothing is left there. */
  readonly dir: string;
}

const LIMIT_MS = 15 * 60_000;
const MEMORY_MB = 1_024;
/** Where `guest/warm-up.sh` lies in the machine. */
export const WARM_UP_PLACE = '/opt/remora/warm-up.sh';
const DONE = 'remora: warm';
const SHOWN_LINES = 20;

/**
 * Throws `internal` with the last lines of the console when the agent does not come up, or no network policy is enforced: such an image would
 * be of no use.
 */
export async function warmUp({ kernel, initrd, disk, append, cpu, dir }: WarmUpOptions): Promise<void> {
  await mkdir(dir, { recursive: true });
  const console = join(dir, 'console.log');
  await runTool(
    // It ends with this process, however that ends.
    'setpriv',
    [
      ...['--pdeathsig', 'KILL', 'qemu-system-x86_64'],
      ...['-M', 'q35,accel=tcg', '-cpu', cpu, '-smp', '2', '-m', String(MEMORY_MB)],
      ...['-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot', '-net', 'none'],
      ...['-kernel', kernel, '-initrd', initrd, '-append', `${append} remora.net=none init=${WARM_UP_PLACE}`],
      ...['-drive', `file=${disk.replaceAll(',', ',,')},format=raw,if=none,id=root,cache=unsafe`],
      ...['-device', 'virtio-blk-pci,drive=root', '-serial', `file:${console}`],
      ...['-sandbox', 'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny'],
    ],
    { limit_ms: LIMIT_MS, cwd: dir },
  );
  const lines = (await readFile(console, 'utf8')).split(/\r?\n/);
  if (!lines.some((line) => line.includes(DONE))) {
    const last = lines.slice(-SHOWN_LINES).join('\n');
    throw new RemoraError(
      'internal',
      `the agent has not come up in the new image, or no network policy is enforced there; the end of its console:\n${last}`,
    );
  }
  await rm(dir, { recursive: true });
}
