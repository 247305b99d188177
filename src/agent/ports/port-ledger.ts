// The tables of the ports: the ports announced last, so that a restart can find what changed meanwhile, and the notices that the
// platform has not accepted yet, in order.
import type { PortNotice } from '../../contract/port-notices.ts';
import type { OpenPort, PortTable } from '../../core/ports/port-table.ts';
import type { Sqlite } from '../../sqlite/open.ts';

export const portsSchema = `
CREATE TABLE port_announced (
  port INTEGER PRIMARY KEY, pid INTEGER NOT NULL, command TEXT, uid INTEGER NOT NULL,
  addresses TEXT NOT NULL, sockets TEXT NOT NULL
) STRICT;
CREATE TABLE port_notices (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, type TEXT NOT NULL, port INTEGER NOT NULL,
  address TEXT NOT NULL, pid INTEGER NOT NULL, time TEXT NOT NULL, refusal TEXT
) STRICT;
CREATE TABLE port_facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
`;

/** How many notices set aside are stored for people to look at. */
const ASIDE_MAX = 100;

export interface QueuedNotice {
  readonly seq: number;
  readonly notice: PortNotice;
}

export interface PortLedger {
  /** The ports announced when the agent last ran. After a boot they carry no sockets, because none of those can exist any more. */
  readonly announced: PortTable;
  /** The ports announced to `target`, including the notices that wait; empty for a platform that got none yet. */
  readonly announcedToTarget: PortTable;
  /** Stores the change from `before` to `after` and its notices: both or none. */
  record(before: PortTable, after: PortTable, notices: readonly PortNotice[]): void;
  /** The oldest notices that wait. */
  next(limit: number): QueuedNotice[];
  /** Deletes notices that were delivered. */
  remove(notices: readonly QueuedNotice[]): void;
  /** Moves a notice out of the queue for good and stores it with the reason. */
  setAside(notice: QueuedNotice, refusal: string): void;
  depth(): number;
  waitingByPort(): Map<number, number>;
  aside(): number;
}

interface AnnouncedRow {
  readonly port: number;
  readonly pid: number;
  readonly command: string | null;
  readonly uid: number;
  readonly addresses: string;
  readonly sockets: string;
}

interface NoticeRow {
  readonly seq: number;
  readonly id: string;
  readonly type: PortNotice['type'];
  readonly port: number;
  readonly address: string;
  readonly pid: number;
  readonly time: string;
}

/** `target` names the platform and the sprite; notices for another one are dropped. Throws what SQLite throws. */
export function openPortLedger(db: Sqlite, now: { readonly boot: string; readonly target: string }): PortLedger {
  const factOf = db.prepare<[string], { value: string }>('SELECT value FROM port_facts WHERE name = ?');
  const setFact = db.prepare(
    'INSERT INTO port_facts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  );
  const allAnnounced = db.prepare<[], AnnouncedRow>('SELECT * FROM port_announced');
  const setAnnounced = db.prepare<AnnouncedRow>(
    'INSERT OR REPLACE INTO port_announced VALUES (@port, @pid, @command, @uid, @addresses, @sockets)',
  );
  const dropAnnounced = db.prepare<[number]>('DELETE FROM port_announced WHERE port = ?');
  const addNotice = db.prepare<PortNotice>(
    'INSERT INTO port_notices (id, type, port, address, pid, time) VALUES (@id, @type, @port, @address, @pid, @time)',
  );
  const oldest = db.prepare<[number], NoticeRow>(
    'SELECT seq, id, type, port, address, pid, time FROM port_notices WHERE refusal IS NULL ORDER BY seq LIMIT ?',
  );
  const dropNotice = db.prepare<[number]>('DELETE FROM port_notices WHERE seq = ?');
  const refuse = db.prepare<[string, number]>('UPDATE port_notices SET refusal = ? WHERE seq = ?');
  const trimAside = db.prepare<[number]>(
    `DELETE FROM port_notices WHERE refusal IS NOT NULL AND seq NOT IN
      (SELECT seq FROM port_notices WHERE refusal IS NOT NULL ORDER BY seq DESC LIMIT ?)`,
  );
  const countWaiting = db.prepare<[], { n: number }>('SELECT count(*) AS n FROM port_notices WHERE refusal IS NULL');
  const countAside = db.prepare<[], { n: number }>('SELECT count(*) AS n FROM port_notices WHERE refusal IS NOT NULL');
  const countByPort = db.prepare<[], { port: number; n: number }>(
    'SELECT port, count(*) AS n FROM port_notices WHERE refusal IS NULL GROUP BY port',
  );

  const sameBoot = factOf.get('boot')?.value === now.boot;
  const sameTarget = factOf.get('target')?.value === now.target;
  const announced = new Map<number, OpenPort>();
  for (const row of allAnnounced.all()) announced.set(row.port, toOpenPort(row, sameBoot));
  if (!sameBoot || !sameTarget) {
    db.transaction(() => {
      if (!sameTarget) db.exec('DELETE FROM port_announced; DELETE FROM port_notices');
      for (const open of sameTarget ? announced.values() : []) setAnnounced.run(toRow(open));
      setFact.run('boot', now.boot);
      setFact.run('target', now.target);
    })();
  }

  return {
    announced,
    announcedToTarget: sameTarget ? announced : new Map(),
    record: db.transaction((before, after, notices) => {
      for (const port of before.keys()) if (!after.has(port)) dropAnnounced.run(port);
      for (const open of after.values()) if (open !== before.get(open.port)) setAnnounced.run(toRow(open));
      for (const notice of notices) addNotice.run(notice);
    }),
    next: (limit) => oldest.all(limit).map(({ seq, ...notice }) => ({ seq, notice })),
    remove: db.transaction((notices) => {
      for (const { seq } of notices) dropNotice.run(seq);
    }),
    setAside: db.transaction((notice, refusal) => {
      refuse.run(refusal, notice.seq);
      trimAside.run(ASIDE_MAX);
    }),
    depth: () => countWaiting.get()?.n ?? 0,
    waitingByPort: () => new Map(countByPort.all().map(({ port, n }) => [port, n])),
    aside: () => countAside.get()?.n ?? 0,
  };
}

function toRow(open: OpenPort): AnnouncedRow {
  return {
    port: open.port,
    pid: open.pid,
    command: open.command ?? null,
    uid: open.uid,
    addresses: open.addresses.join(' '),
    sockets: open.sockets.join(' '),
  };
}

function toOpenPort(row: AnnouncedRow, sameBoot: boolean): OpenPort {
  return {
    port: row.port,
    pid: row.pid,
    command: row.command ?? undefined,
    start_ticks: undefined,
    uid: row.uid,
    addresses: row.addresses.split(' '),
    sockets: sameBoot && row.sockets !== '' ? row.sockets.split(' ').map(Number) : [],
  };
}
