// The ports part of an agent in a process of its own, so that it can be killed: `ports-agent-child.ts DATABASE PLATFORM_URL`.
import { flushCompileCache } from 'node:module';
import { createEventHub } from '../../src/agent/events/event-hub.ts';
import { createPartBoard } from '../../src/agent/parts.ts';
import { createPorts } from '../../src/agent/ports/ports.ts';
import { storeMigrations } from '../../src/agent/store-migrations.ts';
import { createUpstream } from '../../src/agent/upstream.ts';
import { systemClock } from '../../src/core/clock.ts';
import { Secret } from '../../src/core/secret.ts';
import { randomFraction } from '../../src/core/urandom.ts';
import { openDatabase } from '../../src/sqlite/open.ts';
import { silentLog } from './silent-log.ts';

const [path = '', baseUrl = ''] = process.argv.slice(2);
const board = createPartBoard(systemClock);
const ports = createPorts({
  clock: systemClock,
  random: randomFraction,
  hub: createEventHub({
    clock: systemClock,
    generation: () => 1,
    sequence: { load: () => 0, reserve: () => undefined },
  }),
  part: board.part('ports'),
  noticesPart: board.part('notices'),
  db: openDatabase(path, { migrations: storeMigrations }).db,
  upstream: createUpstream(),
  log: silentLog,
  config: { sprite: 'dev-1', baseUrl, token: new Secret('sprite-token') },
  identity: () => ({}),
});
await ports.start(new AbortController().signal);
// It is killed, and would compile all of this at each start.
flushCompileCache();
console.log('started');
