// Looks at the connections that others have to the ports of this machine. Never fails: what cannot be seen is said.
import { type InboundConnection, selectInbound } from '../../core/idle/inbound-connections.ts';
import type { InboundLook } from '../../core/idle/inbound-judge.ts';
import { readConnectionTable, readOwnSockets } from '../connections/connection-table.ts';
import { type Ss, SsError } from '../connections/ss.ts';

export interface InboundOptions {
  readonly ss: Pick<Ss, 'list'>;
  /** The ports that are announced now. */
  readonly ports: () => Iterable<number>;
  readonly ignorePorts: readonly number[];
  readonly procRoot?: string;
}

/** `known`: keys of the connections that were inbound at the last look. */
export type LookAtInbound = (known: ReadonlySet<string>, signal: AbortSignal) => Promise<InboundLook>;

export function createInboundLook(options: InboundOptions): LookAtInbound {
  const { ss, ignorePorts, procRoot } = options;

  /** Without bytes where `ss` does not tell them. */
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
      return { type: 'failed', why: error instanceof Error ? error.message : String(error) };
    }
  };
}
