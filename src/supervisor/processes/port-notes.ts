// The ports that open and close in this machine, as the agent tells of them, for those who look at a terminal. The agent is asked only
// while somebody looks.
import type { IncomingMessage } from 'node:http';
import { portOperations, portWatchLine } from '../../contract/local/ports.ts';
import type { PortNotification } from '../../contract/port-notices.ts';
import { createBackoff } from '../../core/backoff.ts';
import { createLineFramer } from '../../core/ndjson.ts';
import { randomFraction } from '../../core/urandom.ts';
import { nodeHttp } from '../../http/node-http.ts';

/** Gets each notification as JSON. */
export type OnPortNote = (json: string) => void;

/** The agent sends a line at least so often. */
const SILENCE_MS = 60_000;

export class PortNotes {
  readonly #agentSocket: string | undefined;
  readonly #listeners = new Set<OnPortNote>();
  readonly #backoff = createBackoff({ random: randomFraction });
  /** What is open by the agent's last word; undefined before its first one. */
  #open: Map<number, PortNotification> | undefined;
  #end: (() => void) | undefined;

  /** Nobody is told of anything where there is no socket. */
  constructor(agentSocket: string | undefined) {
    this.#agentSocket = agentSocket;
  }

  /** Tells of each port that opens or closes, until the disposal. */
  follow(listener: OnPortNote): Disposable {
    this.#listeners.add(listener);
    if (this.#agentSocket !== undefined) this.#end ??= this.#ask(this.#agentSocket);
    return {
      [Symbol.dispose]: () => {
        this.#listeners.delete(listener);
        if (this.#listeners.size > 0) return;
        this.#end?.();
        this.#end = undefined;
        this.#open = undefined;
      },
    };
  }

  /** Asks the agent, and asks again when the answer is over, until the result is called. */
  #ask(socketPath: string): () => void {
    const { method, path } = portOperations.watchPorts;
    let timer: NodeJS.Timeout | undefined;
    let isOver = false;
    const call = nodeHttp.request({ socketPath, method, path, agent: false, timeout: SILENCE_MS });
    call.once('response', (answer) => this.#read(answer));
    call.once('timeout', () => call.destroy());
    call.on('error', () => undefined);
    call.once('close', () => {
      if (isOver) return;
      timer = setTimeout(() => {
        this.#end = this.#ask(socketPath);
      }, this.#backoff.next());
      timer.unref();
    });
    call.end();
    return () => {
      isOver = true;
      clearTimeout(timer);
      call.destroy();
    };
  }

  #read(answer: IncomingMessage): void {
    const framer = createLineFramer();
    answer.on('error', () => undefined);
    answer.on('data', (chunk: Buffer) => {
      try {
        framer.push(chunk, (line) => this.#onLine(line));
      } catch {
        answer.destroy();
      }
    });
  }

  #onLine(line: string): void {
    const event = portWatchLine.parse(JSON.parse(line));
    this.#backoff.reset();
    if (event.type !== 'port_list') {
      this.#tell(event);
      return;
    }
    const now = new Map(
      event.ports.map(({ port, address, pid }) => [port, { type: 'port_opened' as const, port, address, pid }]),
    );
    const before = this.#open ?? now;
    // What happened while the agent was away.
    for (const known of before.values())
      if (!isSame(known, now.get(known.port))) this.#tell({ ...known, type: 'port_closed' });
    for (const current of now.values()) if (!isSame(current, before.get(current.port))) this.#tell(current);
    this.#open = now;
  }

  #tell(event: PortNotification): void {
    if (event.type === 'port_opened') this.#open?.set(event.port, event);
    else this.#open?.delete(event.port);
    const json = JSON.stringify(event);
    for (const listener of [...this.#listeners]) listener(json);
  }
}

function isSame(one: PortNotification, other: PortNotification | undefined): boolean {
  return one.pid === other?.pid && one.address === other.address;
}
