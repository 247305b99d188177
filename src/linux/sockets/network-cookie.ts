// The number by which the kernel tells network namespaces apart: the one of this process (SO_NETNS_COOKIE of socket(7)).
import { closeSync } from 'node:fs';
import { isBuiltin } from 'node:module';

const [AF_INET, SOCK_DGRAM, SOCK_CLOEXEC] = [2, 2, 0o2000000] as const;
const [SOL_SOCKET, SO_NETNS_COOKIE] = [1, 71] as const;
const COOKIE_BYTES = 8;

/** Undefined on a kernel before 5.14, and where this Node cannot call the C library. */
export async function readNetworkCookie(): Promise<bigint | undefined> {
  if (!isBuiltin('node:ffi')) return undefined;
  const { dlopen } = await import('node:ffi');
  const { functions: libc } = dlopen(null, {
    socket: { arguments: ['i32', 'i32', 'i32'], return: 'i32' },
    getsockopt: { arguments: ['i32', 'i32', 'i32', 'buffer', 'buffer'], return: 'i32' },
  });
  const socket = libc.socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return undefined;
  try {
    const cookie = Buffer.alloc(COOKIE_BYTES);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(COOKIE_BYTES);
    const status = libc.getsockopt(socket, SOL_SOCKET, SO_NETNS_COOKIE, cookie, length);
    return status === 0 ? cookie.readBigUInt64LE() : undefined;
  } finally {
    closeSync(socket);
  }
}
