// Sends to the Unix datagram socket on which systemd listens to a daemon. Node has no such sockets, so calls of the C library send:
// a tenth of a millisecond each, without a process, and with the pid of the daemon itself.
import { isBuiltin } from 'node:module';

/** Numbers of the Linux kernel, equal on every architecture that Node runs on. */
const AF_UNIX = 1;
const SOCK_DGRAM_CLOEXEC = 2 | 0o2000000;
const MSG_DONTWAIT_NOSIGNAL = 0x40 | 0x4000;
/** `sun_path` of sockaddr_un. */
const PATH_BYTES = 108;
const FAMILY_BYTES = 2;

export interface NotifySocket {
  /** False when systemd does not take it now: nobody listens, or too many messages wait. */
  send(text: string): boolean;
}

/** The address as the kernel takes it; undefined for one that is no Unix socket, or too long. `@` begins an abstract name. Pure. */
export function toSocketAddress(path: string): Buffer | undefined {
  const name = Buffer.from(path);
  if (!/^[/@]./.test(path) || name.length >= PATH_BYTES) return undefined;
  if (path.startsWith('@')) name[0] = 0;
  const end = Buffer.alloc(path.startsWith('@') ? 0 : 1);
  const family = Buffer.alloc(FAMILY_BYTES);
  new Uint16Array(family.buffer, family.byteOffset, 1)[0] = AF_UNIX;
  return Buffer.concat([family, name, end]);
}

/** Undefined where this Node cannot call the C library, or the address is no Unix socket. */
export async function openNotifySocket(path: string): Promise<NotifySocket | undefined> {
  const address = toSocketAddress(path);
  if (address === undefined || !isBuiltin('node:ffi')) return undefined;
  try {
    const { dlopen } = await import('node:ffi');
    const { functions: libc } = dlopen(null, {
      socket: { arguments: ['i32', 'i32', 'i32'], return: 'i32' },
      sendto: { arguments: ['i32', 'buffer', 'u64', 'i32', 'buffer', 'u32'], return: 'i64' },
    });
    const fd = libc.socket(AF_UNIX, SOCK_DGRAM_CLOEXEC, 0);
    if (fd < 0) return undefined;
    return {
      send(text) {
        const bytes = Buffer.from(text);
        const sent = libc.sendto(fd, bytes, BigInt(bytes.length), MSG_DONTWAIT_NOSIGNAL, address, address.length);
        return sent === BigInt(bytes.length);
      },
    };
  } catch {
    return undefined;
  }
}
