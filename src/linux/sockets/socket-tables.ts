// Reads the TCP listeners and the socket counters of the kernel from /proc/net, through descriptors that stay open.
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { toErrorMessage } from '../../core/error-message.ts';
import { endsPastListeners, type IpFamily, parseProcNetTcp, type TcpListener } from '../../core/ports/proc-net-tcp.ts';
import { rememberLast } from '../../core/remember-last.ts';
import { RemoraError } from '../../core/remora-error.ts';

const CHUNK_BYTES = 64 * 1024;
const TABLE_CAP_BYTES = 64 * 1024 * 1024;
/**
 * The kernel fills a page with whole rows for each read. A read that leaves room for many more rows was the last one; asking
 * again would walk its whole hash table once more, which is most of the cost of a scan.
 */
const LAST_READ_BYTES = 3_500;
/**
 * Linux answers a read with at most one page, and with all listeners before any connection: reading ends with the first page that
 * holds a connection. A kernel that answers with more at once may have another order, and is read to its end.
 */
const PAGE_BYTES = 4_096;

export interface SocketTables extends Disposable {
  /** Every listener, IPv4 first. Throws `not_ready` with the file and the reason. `breathe` runs between two reads. */
  listeners(breathe: () => Promise<void>): Promise<TcpListener[]>;
  /** The counters as text; equal texts mean that probably no TCP socket came or went. Undefined where they cannot be read. */
  counters(): string | undefined;
}

/** `root` is /proc, or a copy of it in a test. Opens nothing until the first read. */
export function createSocketTables(root: string): SocketTables {
  const open = new Map<string, number>();
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  const toUse = { sockstat: rememberLast(parseUse), sockstat6: rememberLast(parseUse) };

  function descriptor(name: string): number {
    const known = open.get(name);
    if (known !== undefined) return known;
    const opened = openSync(join(root, 'net', name), 'r');
    open.set(name, opened);
    return opened;
  }

  function forget(name: string): void {
    const known = open.get(name);
    open.delete(name);
    if (known !== undefined) closeSync(known);
  }

  async function readTable(name: string, family: IpFamily, breathe: () => Promise<void>): Promise<TcpListener[]> {
    try {
      const parts: string[] = [];
      let total = 0;
      let length = 0;
      do {
        if (total > 0) await breathe();
        length = readSync(descriptor(name), chunk, 0, CHUNK_BYTES, total);
        const part = chunk.toString('latin1', 0, length);
        parts.push(part);
        total += length;
        if (total > TABLE_CAP_BYTES) throw new Error(`it is larger than ${TABLE_CAP_BYTES} bytes`);
        if (length <= PAGE_BYTES && endsPastListeners(part)) break;
      } while (length >= LAST_READ_BYTES);
      return parseProcNetTcp(parts.join(''), family);
    } catch (error) {
      forget(name);
      const reason = toErrorMessage(error);
      throw new RemoraError('not_ready', `${join(root, 'net', name)} cannot be read: ${reason}`, { cause: error });
    }
  }

  function readText(name: string): string {
    return chunk.toString('latin1', 0, readSync(descriptor(name), chunk, 0, CHUNK_BYTES, 0));
  }

  /** A kernel without IPv6 has no table for it. */
  const hasIpv6 = () => open.has('sockstat6') || open.has('tcp6') || existsSync(join(root, 'net', 'tcp6'));

  function readUse(name: 'sockstat' | 'sockstat6'): string {
    const use = toUse[name](readText(name));
    if (use === undefined) throw new Error(`${name} has no line for TCP`);
    return use;
  }

  /** Walking an empty table costs as much as a full one. */
  function mayHoldIpv6(): boolean {
    if (!hasIpv6()) return false;
    try {
      return !readUse('sockstat6').startsWith('0 ');
    } catch {
      forget('sockstat6');
      return true;
    }
  }

  return {
    async listeners(breathe) {
      const ipv4 = await readTable('tcp', 'ipv4', breathe);
      return mayHoldIpv6() ? [...ipv4, ...(await readTable('tcp6', 'ipv6', breathe))] : ipv4;
    },
    counters() {
      try {
        const used = readUse('sockstat');
        return hasIpv6() ? `${used} ${readUse('sockstat6')}` : used;
      } catch {
        forget('sockstat');
        forget('sockstat6');
        return undefined;
      }
    },
    [Symbol.dispose]() {
      for (const name of [...open.keys()]) forget(name);
    },
  };
}

/**
 * The number of sockets, and of ended connections that the kernel still remembers: a listener that opens while a connection ends changes the
 * second at least. Undefined where the kernel does not show it.
 */
function parseUse(text: string): string | undefined {
  const found = /^TCP6?: inuse (\d+)(?: orphan \d+ tw (\d+))?/m.exec(text);
  return found === null ? undefined : `${found[1]} ${found[2]}`;
}
