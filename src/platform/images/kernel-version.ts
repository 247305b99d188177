// The version that a Linux kernel of the x86 boot protocol says of itself. Pure.

const MAGIC_AT = 0x202;
const MAGIC = 'HdrS';
/** Where the header says where the text is, less the size of the boot sector. */
const POINTER_AT = 0x20e;
const BOOT_SECTOR_BYTES = 0x200;
const LIMIT_BYTES = 256;
/** So many bytes of the file hold the header and the text. */
export const KERNEL_HEAD_BYTES = 0x10_000 + BOOT_SECTOR_BYTES + LIMIT_BYTES;

/** A version such as `6.1.0-56-cloud-amd64`; undefined for a file that is no such kernel. */
export function readKernelVersion(head: Buffer): string | undefined {
  if (head.length < POINTER_AT + 2 || head.toString('latin1', MAGIC_AT, MAGIC_AT + MAGIC.length) !== MAGIC)
    return undefined;
  const pointer = head.readUInt16LE(POINTER_AT);
  if (pointer === 0) return undefined;
  const text = head.toString('latin1', pointer + BOOT_SECTOR_BYTES, pointer + BOOT_SECTOR_BYTES + LIMIT_BYTES);
  const [version] = text.split('\0', 1);
  return /^\d+\.\d+\S*/.exec(version ?? '')?.[0];
}
