// The file of a Unix socket that this process made: it is removed at the end, unless another socket has taken the name.
import { lstatSync, unlinkSync } from 'node:fs';

export interface SocketFile extends Disposable {
  readonly path: string;
  readonly ino: number;
}

export function createSocketFile(path: string, ino: number): SocketFile {
  return {
    path,
    ino,
    [Symbol.dispose]() {
      if (lstatSync(path, { throwIfNoEntry: false })?.ino === ino) unlinkSync(path);
    },
  };
}
