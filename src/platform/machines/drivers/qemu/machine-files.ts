// The files in the directory of a machine. The emulator works in that directory and names them without a path, so that it needs no right
// to enter those above. It may write to some of them, and can make, rename and remove none.
import { join } from 'node:path';

/** The control socket of the emulator. */
export const QMP_SOCKET = 'qmp.sock';
/** The host's end of the port of guest/host-port.ts. */
export const PORT_SOCKET = 'port.sock';
/** Where the emulator sends its state. */
export const STATE_SOCKET = 'state.sock';

export class MachineFiles {
  readonly dir: string;
  /** What the machine wrote over its image. */
  readonly disk: string;
  /** The image under the disk, and what boots it: links to the files of the image, which stay when the image is deleted. */
  readonly base: string;
  readonly kernel: string;
  readonly initrd: string;
  /** The memory of the machine while it runs, and of its snapshot while it is suspended. */
  readonly memory: string;
  /** What the emulator knows of a suspended machine besides its memory. */
  readonly state: string;
  /** The description of a snapshot, without which there is none. */
  readonly manifest: string;
  readonly note: string;
  /** What the emulator itself says. */
  readonly emulatorLog: string;
  /** What the machine gets as systemd credentials, a file each. */
  readonly credentials: string;
  readonly checkpoints: string;

  constructor(dir: string) {
    this.dir = dir;
    this.disk = join(dir, 'disk.qcow2');
    this.base = join(dir, 'base.qcow2');
    this.kernel = join(dir, 'kernel');
    this.initrd = join(dir, 'initrd');
    this.memory = join(dir, 'memory');
    this.state = join(dir, 'state.bin');
    this.manifest = join(dir, 'snapshot.json');
    this.note = join(dir, 'qemu.json');
    this.emulatorLog = join(dir, 'emulator.log');
    this.credentials = join(dir, 'credentials');
    this.checkpoints = join(dir, 'checkpoints');
  }
}
