// Webhooks to deliver, in memory: those that are not delivered end with the process.
import { AHEAD_MAX_MS, fullOutbox, NOTICES_MAX, type Outbox, type WaitingNotice } from './outbox.ts';

export function createMemoryOutbox({ max = NOTICES_MAX }: { readonly max?: number } = {}): Outbox {
  /** The notices of each resource, oldest first. Only the first of each is in `due`. */
  const queues = new Map<string, WaitingNotice[]>();
  /** When the first notice of a resource is due, by its id. */
  const due = new Map<number, { readonly resource_id: string; readonly due_ms: number }>();
  const count = { last: 0, waiting: 0 };

  function change(id: number, due_ms: number, tried: 0 | 1): void {
    const entry = due.get(id);
    const queue = queues.get(entry?.resource_id ?? '');
    const first = queue?.[0];
    if (entry === undefined || queue === undefined || first === undefined) return;
    queue[0] = { ...first, tries: first.tries + tried };
    due.set(id, { ...entry, due_ms });
  }

  return {
    add(notice, now_ms) {
      if (count.waiting >= max) throw fullOutbox(max);
      count.waiting += 1;
      count.last += 1;
      const resource_id = notice.resource.id;
      const queue = queues.get(resource_id) ?? [];
      queue.push({ id: count.last, notice, added_ms: now_ms, tries: 0 });
      queues.set(resource_id, queue);
      if (queue.length === 1) due.set(count.last, { resource_id, due_ms: now_ms });
    },
    take(now_ms, until_ms, limit) {
      const isDue = (due_ms: number) => due_ms <= now_ms || due_ms > now_ms + AHEAD_MAX_MS;
      const ready = [...due].filter(([, { due_ms }]) => isDue(due_ms)).slice(0, limit);
      return ready.flatMap(([id, { resource_id }]) => {
        change(id, until_ms, 0);
        return queues.get(resource_id)?.[0] ?? [];
      });
    },
    done(id) {
      const entry = due.get(id);
      if (entry === undefined) return;
      count.waiting -= 1;
      due.delete(id);
      const queue = queues.get(entry.resource_id) ?? [];
      queue.shift();
      const [next] = queue;
      if (next === undefined) queues.delete(entry.resource_id);
      else due.set(next.id, { resource_id: entry.resource_id, due_ms: 0 });
    },
    putOff: (id, due_ms) => change(id, due_ms, 1),
    nextDue_ms() {
      let next: number | undefined;
      for (const { due_ms } of due.values()) next = Math.min(next ?? due_ms, due_ms);
      return next;
    },
  };
}
