// Puts what providers are to be told into the database, in the transaction of what has happened: the notice is there if and only if that is.

import { type HostNotice, type MemberNotice, NOTICE_TYPE } from '../../contract/extension-notices.ts';
import type { ExtensionEvent } from '../../contract/extension-providers.ts';
import type { MachineEvent } from '../../contract/machine-events.ts';
import type { MachineStatus } from '../../contract/machines.ts';
import { randomHex } from '../../core/urandom.ts';
import type { Sql } from '../storage/storage.ts';
import { toMachineNotice } from './machine-notice.ts';

export interface NoticeOutbox {
  /** Tells the provider that runs as the app of the machine, if there is one. `from` is the state before the event. */
  addOfMachine(machine_id: string, event: MachineEvent, from: MachineStatus): Promise<void>;
  /** Tells the providers that want to know of users, and have an extension in the organization. */
  addOfMember(notice: MemberNotice, now_ms: number): Promise<void>;
  /** Tells the providers that want to know of hosts, and whose app has machines on this one. */
  addOfHost(host: string, status: HostNotice['status'], now_ms: number): Promise<void>;
}

const MACHINES_NAMED_MAX = 100;
const ID_BYTES = 16;

/** A notice waits as long as those before it in its stream. `$1` is the stream, `$6` the time. */
const insert = `INSERT INTO provider_notices (provider, stream, event_id, source, type, body, created_at, next_at)
SELECT p.name, $1, $2, $3, $4, $5, $6,
  COALESCE((SELECT max(n.next_at) FROM provider_notices n WHERE n.provider = p.name AND n.stream = $1), $6)
FROM extension_providers p`;

export function createNoticeOutbox(sql: Sql): NoticeOutbox {
  return {
    async addOfMachine(machine_id, event, from) {
      const notice = toMachineNotice(machine_id, event, from);
      if (notice === undefined) return;
      const find = `SELECT m.app FROM machines m JOIN extension_providers p ON p.app = m.app WHERE m.id = $1`;
      const machine = await sql.one<{ readonly app: string }>(find, [machine_id]);
      if (machine === undefined) return;
      const source = `/v1/apps/${machine.app}/machines/${machine_id}`;
      const event_id = `${machine_id}-${event.id}`;
      const values = [machine_id, event_id, source, notice.type, JSON.stringify(notice.body), event.timestamp];
      await sql.run(`${insert} WHERE p.app = $7`, [...values, machine.app]);
    },
    async addOfMember(notice, now_ms) {
      const { organization_id, status } = notice;
      const source = `/v1/organizations/${organization_id}`;
      const values = [source, randomHex(ID_BYTES), source, `${NOTICE_TYPE}.organization.${status}`];
      const text = `${insert} WHERE p.events LIKE $8 AND EXISTS (
        SELECT 1 FROM extensions e WHERE e.provider = p.name AND e.organization_id = $7 AND e.state <> 'deleted')`;
      await sql.run(text, [...values, JSON.stringify(notice), now_ms, organization_id, toPattern(status)]);
    },
    async addOfHost(host, status, now_ms) {
      const providers = await sql.all<{ readonly name: string; readonly app: string }>(
        'SELECT name, app FROM extension_providers WHERE app IS NOT NULL AND events LIKE $1',
        [toPattern('host_trouble')],
      );
      for (const { name, app } of providers) {
        const text = 'SELECT id FROM machines WHERE host = $1 AND app = $2 ORDER BY id LIMIT $3';
        const machines = await sql.all<{ readonly id: string }>(text, [host, app, MACHINES_NAMED_MAX]);
        if (machines.length === 0) continue;
        const body: HostNotice = { host, status, data: { machine_ids: machines.map(({ id }) => id) } };
        const source = `/v1/hosts/${host}`;
        const values = [source, randomHex(ID_BYTES), source, `${NOTICE_TYPE}.host.${status}`, JSON.stringify(body)];
        await sql.run(`${insert} WHERE p.name = $7`, [...values, now_ms, name]);
      }
    },
  };
}

/** Finds an event among those that a provider is to be told of, which are stored as a JSON list. */
function toPattern(event: ExtensionEvent): string {
  return `%"${event}"%`;
}
