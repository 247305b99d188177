// Connections that were switched to another protocol belong to the two ends of their tunnel, and to no pool any more.
import type { Duplex } from 'node:stream';

export const switchedSockets = new WeakSet<Duplex>();
