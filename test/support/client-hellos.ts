// The first messages of TLS handshakes, taken by a plain listener in the place of an https server: it answers none of them.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';

export interface ClientHello {
  /** 32 bytes as hex. */
  readonly random: string;
  /** The id as hex; empty when the client sent none. */
  readonly session_id: string;
  /** The whole record as hex. */
  readonly whole: string;
}

export interface HelloListener extends AsyncDisposable {
  readonly port: number;
  readonly hellos: readonly ClientHello[];
  /** How many connections came, with or without a handshake. */
  readonly connections: number;
  /** Forgets those that have come. */
  clear(): void;
}

const RECORD_HEAD_BYTES = 5;
const HANDSHAKE = 22;
/** The random bytes come after the heads of record and handshake, and the version. */
const RANDOM_AT = 11;
const RANDOM_BYTES = 32;

export async function listenForHellos(): Promise<HelloListener> {
  const hellos: ClientHello[] = [];
  const open = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    open.add(socket);
    connections += 1;
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => undefined);
    let bytes: Buffer = Buffer.alloc(0);
    socket.on('data', (more: Buffer) => {
      bytes = Buffer.concat([bytes, more]);
      const hello = parseHello(bytes);
      if (hello === undefined) return;
      hellos.push(hello);
      socket.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    hellos,
    get connections() {
      return connections;
    },
    clear() {
      hellos.length = 0;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Undefined until the record is whole. Throws for what is no handshake. */
export function parseHello(bytes: Buffer): ClientHello | undefined {
  if (bytes.length < RECORD_HEAD_BYTES) return undefined;
  if (bytes[0] !== HANDSHAKE) throw new Error('this is no TLS handshake');
  const end = RECORD_HEAD_BYTES + bytes.readUInt16BE(RECORD_HEAD_BYTES - 2);
  if (bytes.length < end) return undefined;
  const after = RANDOM_AT + RANDOM_BYTES;
  const session_bytes = bytes[after] ?? 0;
  return {
    random: bytes.subarray(RANDOM_AT, after).toString('hex'),
    session_id: bytes.subarray(after + 1, after + 1 + session_bytes).toString('hex'),
    whole: bytes.subarray(0, end).toString('hex'),
  };
}
