// Bounds what machines print, and what their emulators say, on the disk of the host.
import { join } from 'node:path';
import { toErrorMessage } from '../../../../core/error-message.ts';
import { MACHINE_LOG } from '../last-lines.ts';
import { capLog } from './cap-log.ts';
import type { Instances } from './instances.ts';
import type { QemuHost } from './qemu-host.ts';

/** A machine prints at most a few megabytes meanwhile: each byte is an access to a device. */
const LOOK_MS = 5_000;

/** Looks now and then, one machine after the other. Disposing of it ends that. */
export function watchLogs(host: Pick<QemuHost, 'log'>, instances: Pick<Instances, 'list'>): Disposable {
  let isLooking = false;
  const look = async () => {
    if (isLooking) return;
    isLooking = true;
    for (const [id, { files }] of instances.list()) {
      try {
        await capLog(join(files.dir, MACHINE_LOG));
        await capLog(files.emulatorLog);
      } catch (error) {
        host.log.warn({ machine: id, reason: toErrorMessage(error) }, 'the log of a machine could not be cut');
      }
    }
    isLooking = false;
  };
  const timer = setInterval(look, LOOK_MS);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
