// The established TCP connections from the kernel's own table, read in one go: fast enough for the moment of a resume, and
// present where `ss` is missing. It shows no byte counts.
import { closeSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { parseProcConnections } from '../../core/connections/proc-connections.ts';
import type { TcpConnection } from '../../core/connections/tcp-connection.ts';
import { errorCode } from '../../core/error-code.ts';

const CHUNK_BYTES = 64 * 1024;
/** Holds about a hundred thousand sockets. */
const TABLE_CAP_BYTES = 16 * 1024 * 1024;

/** The connections, IPv4 first. Throws the error of the file system, and an Error for a table that is too large. */
export function readConnectionTable(procRoot = '/proc'): TcpConnection[] {
  const ipv4 = parseProcConnections(readTable(join(procRoot, 'net', 'tcp')));
  return [...ipv4, ...parseProcConnections(readIpv6(join(procRoot, 'net', 'tcp6')))];
}

/** Inodes of the sockets of this process. */
export function readOwnSockets(procRoot = '/proc'): Set<number> {
  const directory = join(procRoot, 'self', 'fd');
  const inodes = new Set<number>();
  for (const name of readdirSync(directory)) {
    const inode = /^socket:\[(\d+)\]$/.exec(linkOf(join(directory, name)))?.[1];
    if (inode !== undefined) inodes.add(Number(inode));
  }
  return inodes;
}

/** A kernel without IPv6 has no table for it. */
function readIpv6(path: string): string {
  try {
    return readTable(path);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return '';
    throw error;
  }
}

function readTable(path: string): string {
  const descriptor = openSync(path, 'r');
  try {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    let text = '';
    for (;;) {
      const length = readSync(descriptor, chunk, 0, CHUNK_BYTES, null);
      if (length === 0) return text;
      text += chunk.toString('latin1', 0, length);
      if (text.length > TABLE_CAP_BYTES) throw new Error(`${path} is larger than ${TABLE_CAP_BYTES} bytes`);
    }
  } finally {
    closeSync(descriptor);
  }
}

/** The target of the link; empty for a descriptor that was closed meanwhile. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
