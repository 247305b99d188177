// Reads the connections from outside to the ports of this machine. It never fails: a note says what cannot be seen.

import { toErrorMessage } from '../../core/error-message.ts';
import type { InboundReading } from '../../core/idle/inbound-judge.ts';
import { type InboundConnection, selectInbound } from '../../core/idle/select-inbound.ts';
import { readConnectionTable, readOwnSockets } from '../../linux/sockets/connection-table.ts';
import { type Ss, SsError } from '../../linux/sockets/ss.ts';

export interface InboundOptions {
  readonly ss: Pick<Ss, 'list'>;
  /** The ports that are announced now. */
  readonly ports: () => Iterable<number>;
  readonly ignorePorts: readonly number[];
  readonly procRoot?: string;
}

/** `known`: keys of the connections that were inbound at the last look. */
export type ReadInbound = (known: ReadonlySet<string>, signal: AbortSignal) => Promise<InboundReading>;

export function createInboundReader(options: InboundOptions): ReadInbound {
  const { ss, ignorePorts, procRoot } = options;

  /** Lists the connections; without byte counts when `ss` does not show them. */
  async function list(signal: AbortSignal): Promise<{ all: InboundConnection[]; note?: string }> {
    try {
      return { all: await ss.list(signal) };
    } catch (error) {
      if (!(error instanceof SsError)) throw error;
      const all = readConnectionTable(procRoot).map((connection) => ({ ...connection, bytes: undefined }));
      return { all, note: `${error.message}: every open inbound connection counts as work, with or without bytes` };
    }
  }

  return async (known, signal) => {
    try {
      const { all, ...rest } = await list(signal);
      const ports = new Set(options.ports()).difference(new Set(ignorePorts));
      const ownInodes = readOwnSockets(procRoot);
      return { type: 'seen', connections: selectInbound(all, { ports, ownInodes, known }), ...rest };
    } catch (error) {
      return { type: 'failed', why: toErrorMessage(error) };
    }
  };
}
