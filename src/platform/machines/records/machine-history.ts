// The last events of each machine, and what is kept of its boots and of its snapshot.
import { type DiscardCause, type MachineEvent, machineEvent } from '../../../contract/machine-events.ts';
import { EVENTS_KEPT } from '../../../contract/machine-history.ts';
import type { MachineStatus } from '../../../contract/machines.ts';
import { createNoticeOutbox } from '../../machine-notices/notice-outbox.ts';
import type { Sql } from '../../storage/storage.ts';

export type NewMachineEvent = Omit<MachineEvent, 'id'>;

export interface MachineHistory {
  /** Adds an event and drops those beyond the number that is kept. Does nothing for a machine that is gone. */
  add(machine_id: string, event: NewMachineEvent): Promise<void>;
  /** Adds the events of one move, in their order, and tells the provider whose app the machine is of. `from` is the state before. */
  addMove(machine_id: string, events: readonly NewMachineEvent[], from: MachineStatus): Promise<void>;
  /** The newest first. */
  list(machine_id: string, limit: number): Promise<readonly MachineEvent[]>;
  /** The oldest first. */
  listAfter(machine_id: string, after: number): Promise<readonly MachineEvent[]>;
  /** The snapshot of the machine was thrown away. */
  discard(machine_id: string, cause: DiscardCause): Promise<void>;
  /** Takes the cause of the discard over to the boot that begins, and counts it among the restarts in a row. */
  begin(machine_id: string, restarts: number, now_ms: number): Promise<void>;
  /** A snapshot was made: what was discarded before it is over. */
  keep(machine_id: string): Promise<void>;
}

/** `sql` is that of the transaction, so that an event is there if and only if its move is. */
export function createMachineHistory(sql: Sql): MachineHistory {
  const outbox = createNoticeOutbox(sql);

  async function read(text: string, values: readonly (string | number)[]): Promise<readonly MachineEvent[]> {
    const rows = await sql.all<{ readonly number: number; readonly event: string }>(text, values);
    return rows.flatMap(({ number, event }) => toEvent(number, event));
  }

  /** The number of the event; undefined for a machine that is gone. */
  async function insert(machine_id: string, event: NewMachineEvent): Promise<number | undefined> {
    const text = 'UPDATE machines SET event_number = event_number + 1 WHERE id = $1 RETURNING event_number';
    const numbered = await sql.one<{ readonly event_number: number }>(text, [machine_id]);
    if (numbered === undefined) return undefined;
    const { event_number } = numbered;
    const add = 'INSERT INTO machine_events (machine_id, number, event) VALUES ($1, $2, $3)';
    await sql.run(add, [machine_id, event_number, JSON.stringify(event)]);
    const trim = 'DELETE FROM machine_events WHERE machine_id = $1 AND number <= $2';
    await sql.run(trim, [machine_id, event_number - EVENTS_KEPT]);
    return event_number;
  }

  return {
    async add(machine_id, event) {
      await insert(machine_id, event);
    },
    async addMove(machine_id, events, from) {
      let before = from;
      for (const event of events) {
        const number = await insert(machine_id, event);
        if (number === undefined) return;
        await outbox.addOfMachine(machine_id, { id: String(number), ...event }, before);
        before = event.status;
      }
    },
    list: (machine_id, limit) =>
      read('SELECT number, event FROM machine_events WHERE machine_id = $1 ORDER BY number DESC LIMIT $2', [
        machine_id,
        limit,
      ]),
    listAfter: (machine_id, after) =>
      read('SELECT number, event FROM machine_events WHERE machine_id = $1 AND number > $2 ORDER BY number', [
        machine_id,
        after,
      ]),
    async discard(machine_id, cause) {
      await sql.run('UPDATE machines SET discarded = $1 WHERE id = $2', [cause, machine_id]);
    },
    async begin(machine_id, restarts, now_ms) {
      const text = `UPDATE machines SET boot_cause = discarded, discarded = NULL, restart_count = $1, started_at = $2
                    WHERE id = $3`;
      await sql.run(text, [restarts, now_ms, machine_id]);
    },
    async keep(machine_id) {
      await sql.run('UPDATE machines SET discarded = NULL, boot_cause = NULL WHERE id = $1', [machine_id]);
    },
  };
}

/** An event that cannot be read is left out. */
function toEvent(number: number, text: string): readonly MachineEvent[] {
  const known = machineEvent.omit({ id: true }).safeParse(parseJson(text));
  return known.success ? [{ id: String(number), ...known.data }] : [];
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
