// Descriptors that survive an execve. Node marks each descriptor that it opens as close-on-exec and cannot remove the mark, so
// calls of the C library make duplicates, which have no mark.
import { closeSync, writeSync } from 'node:fs';
import { isBuiltin } from 'node:module';

/** The first descriptor, as with socket activation. Node marks low descriptors as close-on-exec again when it starts. */
const FIRST = 3;
const LIMIT = 12;

export interface Descriptors {
  /** Returns another descriptor of the same socket, which stays open when the first is closed. Throws at a limit of the system. */
  duplicate(fd: number): number;
  /** The number that the socket at `index` will have. */
  placeOf(index: number): number;
  /**
   * Writes `text` into an anonymous file in memory, and moves all descriptors to their places: the sockets from 3 on in their
   * order, the text after them. Other descriptors with these numbers are overwritten, so an execve must follow at once.
   * @returns the number of the descriptor of the text.
   */
  place(sockets: readonly number[], text: string): number;
}

/** Why this Node cannot hand over descriptors; undefined when it can. */
export function whyNoDescriptors(): string | undefined {
  if (process.platform !== 'linux') return `there is no way to do so on ${process.platform}`;
  if (process.execve === undefined) return `Node ${process.versions.node} has no process.execve`;
  if (!isBuiltin('node:ffi')) return `Node ${process.versions.node} has no node:ffi, or it was switched off`;
  return undefined;
}

/** Allocates what `place` needs, so that `place` cannot fail for want of it. Throws with the reason. */
export async function openDescriptors(): Promise<Descriptors> {
  const why = whyNoDescriptors();
  if (why !== undefined) throw new Error(why);
  const { dlopen } = await import('node:ffi');
  const { functions: libc } = dlopen(null, {
    dup: { arguments: ['i32'], return: 'i32' },
    dup2: { arguments: ['i32', 'i32'], return: 'i32' },
    memfd_create: { arguments: ['string', 'u32'], return: 'i32' },
  });

  function checked(fd: number, call: string): number {
    if (fd < 0)
      throw new Error(`${call} failed; the descriptors of this process are used up, or the call is forbidden`);
    return fd;
  }

  const duplicate = (fd: number) => checked(libc.dup(fd), 'dup');
  const memory = checked(libc.memfd_create('remora-handover', 0), 'memfd_create');

  return {
    duplicate,
    placeOf: (index) => FIRST + index,
    place(sockets, text) {
      if (sockets.length >= LIMIT) throw new Error(`${sockets.length} sockets are more than can be handed over`);
      writeWhole(memory, text);
      const last = FIRST + sockets.length;
      // A source must not have the number of another one's place, where it would be overwritten.
      const sources = [...sockets, memory].map((fd) => {
        let source = fd;
        while (source <= last) source = duplicate(source);
        return source;
      });
      for (const [index, source] of sources.entries()) {
        checked(libc.dup2(source, FIRST + index), 'dup2');
        closeSync(source);
      }
      return last;
    },
  };
}

function writeWhole(fd: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at, bytes.length - at, at);
}
