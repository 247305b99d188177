// Reads the kernel's table of TCP sockets, /proc/net/tcp and /proc/net/tcp6, for its listeners. A table that is cut short or
// damaged is an error: an empty result would mean that every port closed.
import { toAddress } from '../connections/kernel-address.ts';

export type IpFamily = 'ipv4' | 'ipv6';

export interface TcpListener {
  readonly family: IpFamily;
  /** The bind address as text; a v4-mapped one in its IPv4 form. */
  readonly address: string;
  readonly port: number;
  /** The identity of the socket while it lives. */
  readonly inode: number;
  readonly uid: number;
}

/** Thrown when the text is not a whole table of the kernel. */
export class SocketTableError extends Error {
  override readonly name = 'SocketTableError';
}

const LISTEN = '0A';
const HANDSHAKE = '03';
const HEADER = '  sl  local_address';
const HEX_DIGITS: Record<IpFamily, number> = { ipv4: 8, ipv6: 32 };

interface RowReader {
  readonly start: RegExp;
  readonly rest: RegExp;
}

/**
 * The columns before the state are checked in every row; the others only where a listener needs them, because rows can be many.
 */
function toRowReader(family: IpFamily): RowReader {
  const address = `[0-9A-F]{${HEX_DIGITS[family]}}`;
  return {
    start: new RegExp(` *\\d+: (${address}):([0-9A-F]{4}) ${address}:[0-9A-F]{4} ([0-9A-F]{2}) `, 'y'),
    rest: /[0-9A-F]+:[0-9A-F]+ [0-9A-F]{2}:[0-9A-F]+ [0-9A-F]+ +(\d+) +\d+ (\d+) /y,
  };
}

const readers: Record<IpFamily, RowReader> = { ipv4: toRowReader('ipv4'), ipv6: toRowReader('ipv6') };

/**
 * The listeners of one table, in its order. Rows of inode 0 are left out: such a socket is being closed.
 * Throws `SocketTableError` for a missing header, a broken row, or a last line without its end.
 */
export function parseProcNetTcp(text: string, family: IpFamily): TcpListener[] {
  if (!text.startsWith(HEADER)) throw new SocketTableError('the table of TCP sockets has no header');
  const { start, rest } = readers[family];
  const listeners: TcpListener[] = [];
  let at = lineEnd(text, 0) + 1;
  for (let row = 1; at < text.length; row += 1) {
    const end = lineEnd(text, at);
    start.lastIndex = at;
    const head = start.exec(text);
    if (head === null) throw new SocketTableError(`row ${row} of the table of TCP sockets cannot be read`);
    const [whole, address = '', port = '', state] = head;
    if (state === LISTEN) {
      rest.lastIndex = at + whole.length;
      const tail = rest.exec(text);
      if (tail === null || rest.lastIndex > end + 1) {
        throw new SocketTableError(`row ${row} of the table of TCP sockets is cut short`);
      }
      const inode = Number(tail[2]);
      const listener = { family, address: toAddress(address), port: Number.parseInt(port, 16), inode };
      if (inode !== 0) listeners.push({ ...listener, uid: Number(tail[1]) });
    }
    at = end + 1;
  }
  return listeners;
}

/**
 * True when the last row of `text` is neither a listener nor a handshake, which some kernels list among the listeners. Linux
 * writes all listeners first, so that the rest of the table has none.
 */
export function endsPastListeners(text: string): boolean {
  const row = text.slice(text.lastIndexOf('\n', text.length - 2) + 1);
  const state = /^ *\d+: [0-9A-F]+:[0-9A-F]{4} [0-9A-F]+:[0-9A-F]{4} ([0-9A-F]{2}) .*\n$/.exec(row)?.[1];
  return state !== undefined && state !== LISTEN && state !== HANDSHAKE;
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  if (end < 0) throw new SocketTableError('the table of TCP sockets ends in the middle of a row');
  return end;
}
