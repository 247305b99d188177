// Asks the name servers of this machine one question: by UDP, then by TCP where an answer is too long, one server after the other.
import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import { randomBytes } from '../../core/urandom.ts';
import { createFrameReader, toFrame } from './tcp-frames.ts';

const DNS_PORT = 53;
/** How long one server is waited for, and how often all of them are asked. */
const SERVER_MS = 1_500;
const ROUNDS = 2;
const ID_BYTES = 2;

export interface Upstream {
  readonly address: string;
  /** 53 but in tests. */
  readonly port?: number;
}

/** What a message from a server is. `foreign`: the answer to something else, and the right one may still come. */
export type Reading<T> = Settled<T> | { readonly type: 'foreign' };
type Settled<T> = { readonly type: 'read'; readonly answer: T } | { readonly type: 'truncated' };

export interface Question<T> {
  /** The question with this id. */
  readonly write: (id: number) => Uint8Array;
  readonly read: (id: number, message: Buffer) => Reading<T>;
  readonly servers: readonly Upstream[];
  readonly signal: AbortSignal;
}

/** Undefined when no server answers. */
export async function askUpstream<T>(question: Question<T>): Promise<T | undefined> {
  const { servers, signal } = question;
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const server of servers) {
      if (signal.aborted) return undefined;
      const answer = await askServer(question, server);
      if (answer !== undefined) return answer;
    }
  }
  return undefined;
}

async function askServer<T>({ write, read, signal }: Question<T>, server: Upstream): Promise<T | undefined> {
  for (const exchange of [exchangeByUdp, exchangeByTcp]) {
    const id = randomBytes(ID_BYTES).readUInt16BE();
    const limit = AbortSignal.any([signal, AbortSignal.timeout(SERVER_MS)]);
    const settled = await exchange(write(id), (message) => read(id, message), server, limit);
    if (settled?.type !== 'truncated') return settled?.answer;
  }
  return undefined;
}

/** A socket for each question: its port is one more thing that a forger has to guess. */
function exchangeByUdp<T>(
  message: Uint8Array,
  read: (message: Buffer) => Reading<T>,
  { address, port = DNS_PORT }: Upstream,
  signal: AbortSignal,
): Promise<Settled<T> | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
    let isOver = false;
    function end(settled?: Settled<T>): void {
      if (isOver) return;
      isOver = true;
      signal.removeEventListener('abort', onAbort);
      socket.close();
      resolve(settled);
    }
    const onAbort = () => end();
    signal.addEventListener('abort', onAbort, { once: true });
    // A connected socket takes answers of this server alone, and hears at once when nobody listens there.
    socket.on('error', () => end());
    socket.connect(port, address, () => !isOver && socket.send(message));
    socket.on('message', (answer) => {
      const reading = read(answer);
      if (reading.type !== 'foreign') end(reading);
    });
  });
}

function exchangeByTcp<T>(
  message: Uint8Array,
  read: (message: Buffer) => Reading<T>,
  { address, port = DNS_PORT }: Upstream,
  signal: AbortSignal,
): Promise<Settled<T> | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port, signal });
    let settled: Settled<T> | undefined;
    const frames = createFrameReader((answer) => {
      const reading = read(answer);
      if (reading.type === 'foreign') return;
      settled = reading;
      socket.destroy();
    });
    socket.on('data', frames);
    socket.on('error', () => undefined);
    socket.once('end', () => socket.destroy());
    socket.once('close', () => resolve(settled));
    socket.write(toFrame(message));
  });
}
