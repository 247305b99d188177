// Publishes events as fast as it can over a real database, prints the last number every so often, and waits to be killed.
import { flushCompileCache } from 'node:module';
import { createEventHub } from '../../src/agent/events/event-hub.ts';
import { openStore } from '../../src/agent/store.ts';
import { systemClock } from '../../src/core/clock.ts';

const store = openStore(process.argv[2] ?? '', { set: () => undefined, state: 'ok' });
const hub = createEventHub<string>({ clock: systemClock, generation: () => 1, sequence: store.sequence });
// It is killed, and would compile all of this at each start.
flushCompileCache();
console.log(`first ${hub.publish('start').seq}`);
setInterval(() => {
  for (let n = 0; n < 500; n += 1) hub.publish('tick');
  console.log(`last ${hub.seq}`);
}, 5);
