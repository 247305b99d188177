// Which process asked a name server, from the port of its question: found by walking the descriptors of all processes, which takes
// milliseconds, and only for questions that are refused.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

export interface AskingProcess {
  readonly pid: number;
  readonly command: string;
}

/** How many processes are looked into; a search holds the event loop no longer. */
const PROCESSES_MAX = 2_000;

/** Undefined when the socket is closed already, or belongs to a process that this one may not look into. */
export function findAskingProcess(
  transport: 'udp' | 'tcp',
  port: number,
  procRoot = '/proc',
): AskingProcess | undefined {
  const inode = findInode(transport, port, procRoot);
  if (inode === undefined) return undefined;
  const pids = read(() => readdirSync(procRoot), []).filter((name) => /^\d+$/.test(name));
  for (const pid of pids.slice(0, PROCESSES_MAX)) {
    const descriptors = join(procRoot, pid, 'fd');
    for (const fd of read(() => readdirSync(descriptors), [])) {
      if (read(() => readlinkSync(join(descriptors, fd)), '') !== `socket:[${inode}]`) continue;
      return { pid: Number(pid), command: read(() => readFileSync(join(procRoot, pid, 'comm'), 'utf8'), '').trim() };
    }
  }
  return undefined;
}

/** Pure. The text is /proc/net/udp or one like it. */
export function parseInode(table: string, port: number): string | undefined {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  for (const line of table.split('\n')) {
    const fields = line.trim().split(/\s+/);
    if (fields[1]?.endsWith(wanted)) return fields[9];
  }
  return undefined;
}

function findInode(transport: 'udp' | 'tcp', port: number, procRoot: string): string | undefined {
  for (const name of [transport, `${transport}6`]) {
    const inode = parseInode(
      read(() => readFileSync(join(procRoot, 'net', name), 'utf8'), ''),
      port,
    );
    if (inode !== undefined) return inode;
  }
  return undefined;
}

/** Processes come and go, and belong to others. */
function read<T>(look: () => T, otherwise: T): T {
  try {
    return look();
  } catch {
    return otherwise;
  }
}
