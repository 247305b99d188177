// Why the memory of a suspended machine was thrown away (Suspend and Replication, States and transitions).
import { z } from 'zod';

/**
 * `deploy`: the machine was updated. `migrate`: it moved to another host. `lost`, `corrupted`: its snapshot is gone, or is not what was
 * written. `maintenance`: its host was drained, or another version wrote the snapshot. `stopped`: it was stopped. `expired`: the snapshot
 * was older than the platform keeps one.
 */
export const discardCause = z.enum(['deploy', 'migrate', 'lost', 'corrupted', 'maintenance', 'stopped', 'expired']);
export type DiscardCause = z.infer<typeof discardCause>;
