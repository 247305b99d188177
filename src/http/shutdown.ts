// How an edge ends: it stops accepting, ends its streams and lets answers finish, and cuts what is left at a deadline.
//
//   open ──drain──▶ draining
//    └─handOver──▶ handing_over ──drain──▶ draining
import type { Server } from 'node:http';
import { RemoraError } from '../core/remora-error.ts';
import type { Connections } from './connections.ts';
import type { Exchange } from './exchange.ts';
import { sendError } from './reply.ts';

/** How long a connection may take to bring a request that was on its way when the listeners were handed over. */
const USED_LINGER_MS = 100;
const FRESH_LINGER_MS = 500;
/** The pause between two harsher steps once a deadline is over. */
const LAST_WORD_MS = 50;

const STOPPING = new RemoraError('shutting_down', 'the daemon is stopping; try again', { retryAfter_ms: 1_000 });
const STARTED_AGAIN = new RemoraError(
  'resuming',
  'the agent is being started again, and this took too long for it; try again',
  { retryAfter_ms: 1_000 },
);

export interface HandOverOptions {
  /** May end what the answers wait for. */
  readonly onDeadline?: () => void;
  /** What is answered to those who have no answer at the deadline; by default that the process is being started again. */
  readonly error?: RemoraError;
}

export class Shutdown {
  readonly #servers = new Map<Server, Connections>();
  readonly #stopping = new AbortController();
  readonly #endStreams: () => void;
  #phase: 'open' | 'handing_over' | 'draining' = 'open';

  constructor(endStreams: () => void) {
    this.#endStreams = endStreams;
  }

  /** Aborts with the RemoraError that ends upgraded connections. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** True once each answer is the last one of its connection. */
  get hasBegun(): boolean {
    return this.#phase !== 'open';
  }

  /** Includes a server and its connections until the server is closed. */
  add(server: Server, connections: Connections): void {
    this.#servers.set(server, connections);
    server.once('close', () => this.#servers.delete(server));
  }

  /** What is under way at all servers. */
  open(): Exchange[] {
    return [...this.#servers.values()].flatMap((connections) => connections.open());
  }

  /** Throws `shutting_down` while the edge drains. */
  checkOpen(): void {
    if (this.#phase === 'draining') throw STOPPING;
  }

  /** Called after each answer: its connection may be idle now. */
  onAnswered(connections: Connections): void {
    if (this.#phase === 'draining') connections.closeIdle();
    if (this.#phase === 'handing_over') setTimeout(() => connections.closeIdle('used'), USED_LINGER_MS);
  }

  /** Does what `drain` of the edge says. */
  async drain(deadline_ms: number): Promise<void> {
    this.#phase = 'draining';
    const closed = this.#close(STOPPING);
    const cut = setTimeout(() => this.#each((connections) => connections.cut()), deadline_ms);
    await closed;
    clearTimeout(cut);
  }

  /** Does what `handOver` of the edge says. */
  async handOver(deadline_ms: number, { onDeadline, error = STARTED_AGAIN }: HandOverOptions = {}): Promise<void> {
    this.#phase = 'handing_over';
    this.#each((connections) => connections.bePatient());
    const closed = this.#close(error).then(() => 'closed' as const);
    using timers = new DisposableStack();
    const after = (ms: number, run: () => void) => timers.adopt(setTimeout(run, ms), clearTimeout);
    // Runs just after the kernel was asked for new bytes, so that no request that has arrived is dropped.
    after(USED_LINGER_MS, () => setImmediate(() => this.#each((connections) => connections.closeIdle('used'))));
    after(FRESH_LINGER_MS, () => setImmediate(() => this.#each((connections) => connections.closeIdle())));
    const late = new Promise<'late'>((resolve) => after(deadline_ms, () => resolve('late')));
    if ((await Promise.race([closed, late])) === 'closed') return;
    onDeadline?.();
    after(LAST_WORD_MS, () => this.#each((connections) => refuseUnanswered(connections, error)));
    after(2 * LAST_WORD_MS, () => this.#each((connections) => connections.cut()));
    await closed;
  }

  /** No connection is accepted any more, streams end, and each answer that is due is the last one of its connection. */
  async #close({ code }: RemoraError): Promise<void> {
    this.#stopping.abort(new RemoraError(code, 'the daemon is stopping'));
    const servers = [...this.#servers.keys()];
    const closed = servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve())));
    this.#each((connections) => connections.lastAnswers());
    this.#endStreams();
    await Promise.all(closed);
  }

  #each(run: (connections: Connections) => void): void {
    for (const connections of this.#servers.values()) run(connections);
  }
}

function refuseUnanswered(connections: Connections, error: RemoraError): void {
  for (const response of connections.unanswered()) sendError(response, error);
}
