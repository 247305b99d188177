// Asks the name servers of this machine one question: by UDP, then by TCP where an answer is too long, one server after the other.
import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import { createFrameReader, toFrame } from '../../core/dns/tcp-frames.ts';
import { randomBytes } from '../../core/urandom.ts';

const DNS_PORT = 53;
/** How long one server is waited for. */
const SERVER_MS = 1_500;
/** All servers are asked twice. Some drop what they do not understand. */
const ROUNDS: readonly Form[] = ['extended', 'plain'];
const ID_BYTES = 2;

export interface Upstream {
  readonly address: string;
  /** 53 but in tests. */
  readonly port?: number;
}

/**
 * What a message from a server is. `foreign`: the answer to something else, and the right one may still come. `not understood`: it is asked
 * again in the plain form, whose answer counts whatever it is.
 */
export type Reading<T> = Settled<T> | { readonly type: 'foreign' };
type Settled<T> = { readonly type: 'read' | 'not understood'; readonly answer: T } | { readonly type: 'truncated' };
type Form = 'extended' | 'plain';

export interface Question<T> {
  /** The question with this id. `plain`: as servers understand it that know no OPT record. */
  readonly write: (id: number, form: Form) => Uint8Array;
  readonly read: (id: number, message: Buffer) => Reading<T>;
  readonly servers: readonly Upstream[];
  readonly signal: AbortSignal;
}

/** Undefined when no server answers. */
export async function askUpstream<T>(question: Question<T>): Promise<T | undefined> {
  const { servers, signal } = question;
  for (const form of ROUNDS) {
    for (const server of servers) {
      if (signal.aborted) return undefined;
      const answer = await askServer(question, server, form);
      if (answer !== undefined) return answer;
    }
  }
  return undefined;
}

async function askServer<T>(question: Question<T>, server: Upstream, form: Form): Promise<T | undefined> {
  const { write, read, signal } = question;
  for (const exchange of [exchangeByUdp, exchangeByTcp]) {
    const id = randomBytes(ID_BYTES).readUInt16BE();
    const limit = AbortSignal.any([signal, AbortSignal.timeout(SERVER_MS)]);
    const settled = await exchange(write(id, form), (message) => read(id, message), server, limit);
    if (settled?.type === 'not understood' && form === 'extended') return await askServer(question, server, 'plain');
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
    if (signal.aborted) return onAbort();
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
