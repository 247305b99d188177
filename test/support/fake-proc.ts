// A /proc of a machine that does not exist, with its table of TCP sockets and one process, to be damaged by a test.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from './temp-dir.ts';

export const header =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n';

export interface FakeProc {
  readonly root: string;
  /** Writes the table as if these were its listeners, each with its port as inode. */
  listen(...ports: number[]): void;
  writeTable(text: string): void;
  /** The id of the boot that the kernel shows. */
  boot(id: string): void;
  /** Process 100 holds the socket. */
  hold(inode: number): void;
}

export function makeProc(): FakeProc {
  const root = tempDir();
  mkdirSync(join(root, 'net'));
  mkdirSync(join(root, '100', 'fd'), { recursive: true });
  mkdirSync(join(root, 'sys', 'kernel', 'random'), { recursive: true });
  writeFileSync(join(root, '100', 'cmdline'), '/usr/bin/server\0--port\0');
  const writeTable = (text: string) => writeFileSync(join(root, 'net', 'tcp'), text);
  const row = (port: number) => {
    const hex = port.toString(16).toUpperCase().padStart(4, '0');
    return `   0: 0100007F:${hex} 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 ${port} 1 0 100 0 0 10 0\n`;
  };
  return {
    root,
    writeTable,
    listen: (...ports) => writeTable(header + ports.map(row).join('')),
    boot: (id) => writeFileSync(join(root, 'sys', 'kernel', 'random', 'boot_id'), `${id}\n`),
    hold: (inode) => symlinkSync(`socket:[${inode}]`, join(root, '100', 'fd', String(inode))),
  };
}
