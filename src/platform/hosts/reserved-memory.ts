// The memory that the machines of each host have reserved: those that run, and those that are suspended, which keep their reservation.
import { z } from 'zod';
import { nextSlice } from '../../core/next-slice.ts';
import type { Sql } from '../storage/storage.ts';

const PAGE = 500;
const DEFAULT_MB = 256;
const size = z.object({ guest: z.object({ memory_mb: z.number() }) });

/** The memory that is reserved on each host, in MB. */
export async function readReservedMemory(sql: Pick<Sql, 'all'>): Promise<ReadonlyMap<string, number>> {
  const reserved = new Map<string, number>();
  const text = `SELECT id, host, config FROM machines WHERE host IS NOT NULL AND id > $1
                AND state IN ('starting', 'running', 'suspending', 'suspended') ORDER BY id LIMIT ${PAGE}`;
  let after = '';
  for (;;) {
    const rows = await sql.all<{ readonly id: string; readonly host: string; readonly config: string }>(text, [after]);
    for (const { host, config } of rows) reserved.set(host, (reserved.get(host) ?? 0) + toMemory(config));
    if (rows.length < PAGE) return reserved;
    after = rows.at(-1)?.id ?? '';
    await nextSlice();
  }
}

function toMemory(config: string): number {
  try {
    return size.safeParse(JSON.parse(config)).data?.guest.memory_mb ?? DEFAULT_MB;
  } catch {
    return DEFAULT_MB;
  }
}
