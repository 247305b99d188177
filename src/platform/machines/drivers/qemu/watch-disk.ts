// Looks after a machine that the emulator paused because the disk of the host is full: it goes on when there is room again.
import { statfs } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { toErrorMessage } from '../../../../core/error-message.ts';
import type { Instance } from './instances.ts';
import type { QemuHost } from './qemu-host.ts';
import { readRunState } from './qmp/run-state.ts';

const LOOK_MS = 2_000;
/** Less would be full again at once. */
const ROOM_BYTES = 64 * 1024 * 1024;

/** Does nothing until the emulator says so. */
export function watchDisk(host: Pick<QemuHost, 'log'>, id: string, instance: Instance): void {
  let waiting = false;
  const begin = () => {
    if (waiting) return;
    waiting = true;
    host.log.error({ machine: id }, 'the disk of the machines is full: the machine stands still until there is room');
    waitForRoom(instance)
      .then(() =>
        host.log.info({ machine: id }, 'there is room on the disk of the machines again: the machine goes on'),
      )
      .catch((error: unknown) => host.log.warn({ machine: id, reason: toErrorMessage(error) }, 'the machine has ended'))
      .finally(() => {
        waiting = false;
      });
  };
  instance.qmp.onEvent(({ event, data }) => {
    if (event === 'BLOCK_IO_ERROR' && data.nospace === true && data.action === 'stop') begin();
  });
  // An emulator that was found may have said so to an earlier platform.
  readRunState(instance.qmp)
    .then((state) => state === 'io-error' && begin())
    .catch(() => undefined);
}

async function waitForRoom({ qmp, files }: Instance): Promise<void> {
  for (;;) {
    await sleep(LOOK_MS, undefined, { ref: false });
    const { bavail, bsize } = await statfs(files.dir);
    const hasRoom = bavail * bsize >= ROOM_BYTES;
    if ((await readRunState(qmp)) !== 'io-error') return;
    if (hasRoom) await qmp.execute('cont');
  }
}
