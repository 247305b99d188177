// Gives the kernel back what the C library keeps of memory that was freed: pages between others that are still in use, and what threads have left
// that ended. It keeps them for later, which in a machine with little memory, saved whole when it is suspended, costs more than it saves.
import { isBuiltin } from 'node:module';

/** Node writes to the log without it that calls of the C library are new, and a log without that is worth more than memory. */
const QUIET_FLAG = '--disable-warning=ExperimentalWarning';

export type ReturnMemory = () => void;

/**
 * The result takes about 2 ms for 20 MB. It does nothing in a process without the flags of the units, where this Node cannot call the C library, or
 * where the library cannot do this.
 */
export async function openReturnMemory(): Promise<ReturnMemory> {
  if (!isBuiltin('node:ffi') || !process.execArgv.includes(QUIET_FLAG)) return () => undefined;
  try {
    const { dlopen } = await import('node:ffi');
    const { functions: libc } = dlopen(null, { malloc_trim: { arguments: ['u64'], return: 'i32' } });
    return () => void libc.malloc_trim(0n);
  } catch {
    return () => undefined;
  }
}
