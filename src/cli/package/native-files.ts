// The files of a tree that one kind of processor runs, as they say of themselves: so that a package has none for another one.
import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type Architecture, architectures, isArchitecture } from './architecture.ts';

export interface NativeFile {
  /** Where it lies in the tree. */
  readonly path: string;
  /** Undefined for another processor, and for code of another system than Linux. */
  readonly architecture: Architecture | undefined;
}

/** An ELF file begins so: 64 bits, the lowest byte first. */
const HEAD = Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]);
const ELF_BYTES = 4;
const MACHINE_AT = 18;
const HEAD_BYTES = 20;
/** `e_machine` in linux/elf-em.h. */
const MACHINES = { amd64: 62, arm64: 183 } as const satisfies Record<Architecture, number>;

/** Programs, libraries, and whatever is named like an addon of Node, sorted by path. */
export function findNativeFiles(tree: string): NativeFile[] {
  return readdirSync(tree, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(tree, join(parentPath, name)))
    .sort()
    .flatMap((path) => {
      const head = readHead(join(tree, path));
      const isElf = head.subarray(0, ELF_BYTES).equals(HEAD.subarray(0, ELF_BYTES));
      return isElf || path.endsWith('.node') ? [{ path, architecture: toArchitecture(head) }] : [];
    });
}

/** Throws with the files that another processor runs. */
export function checkNativeFiles(tree: string, architecture: Architecture): void {
  const others = findNativeFiles(tree).filter((file) => file.architecture !== architecture);
  if (others.length > 0)
    throw new Error(`these files are not for ${architecture}: ${others.map(({ path }) => path).join(', ')}`);
}

function toArchitecture(head: Buffer): Architecture | undefined {
  if (head.length < HEAD_BYTES || !head.subarray(0, HEAD.length).equals(HEAD)) return undefined;
  const machine = head.readUInt16LE(MACHINE_AT);
  return Object.keys(architectures)
    .filter(isArchitecture)
    .find((each) => MACHINES[each] === machine);
}

/** The first bytes of a file, or all where it has fewer. */
function readHead(path: string): Buffer {
  const file = openSync(path, 'r');
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    return head.subarray(0, readSync(file, head, 0, HEAD_BYTES, 0));
  } finally {
    closeSync(file);
  }
}
