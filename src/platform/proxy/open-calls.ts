// Requests and tunnels to sprites that are open: each is judged again from time to time, because a token may have been revoked, a person may
// have signed out, and a URL may not be public any more.
import { inBatches } from '../../core/in-batches.ts';
import type { Log } from '../../core/log.ts';
import { type Listed, OpenList } from '../../core/open-list.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { Changes } from '../changes.ts';
import type { SpriteTarget } from './host-names.ts';
import type { AccessVerdict } from './url-access.ts';

export interface OpenCallsDeps {
  readonly find: (name: string) => Promise<SpriteTarget | undefined>;
  readonly judge: (exchange: Exchange, name: string, target: SpriteTarget) => Promise<AccessVerdict> | AccessVerdict;
  readonly changes: Pick<Changes, 'subscribe'>;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

export interface OpenCall extends Listed {
  readonly exchange: Exchange;
  readonly name: string;
  /** It was open at the last look, so that what is over at once costs nothing here. */
  wasOpen: boolean;
}

export class OpenCalls {
  readonly #deps: OpenCallsDeps;
  readonly #open = new OpenList<OpenCall>();
  #isLooking = false;

  constructor(deps: OpenCallsDeps) {
    this.#deps = deps;
    deps.changes.subscribe('revalidation_due', () => void this.#look());
  }

  begin(exchange: Exchange, name: string): OpenCall {
    const call = { exchange, name, wasOpen: false, place: -1 };
    this.#open.add(call);
    return call;
  }

  end(call: OpenCall): void {
    this.#open.delete(call);
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const due: OpenCall[] = [];
    for (const call of this.#open.all()) {
      if (call.wasOpen) due.push(call);
      call.wasOpen = true;
    }
    try {
      await inBatches(due, (call) => this.#check(call));
    } finally {
      this.#isLooking = false;
    }
  }

  async #check(call: OpenCall): Promise<void> {
    const { exchange, name } = call;
    try {
      if (await this.#mayGoOn(exchange, name)) return;
    } catch (err) {
      // A database that cannot be asked takes nobody's access away.
      this.#deps.log.warn({ err }, 'the access of an open request could not be judged again');
      return;
    }
    if (!this.#open.has(call)) return;
    this.#deps.log.info({ name }, 'a request was cut because its caller has no access any more');
    exchange.request.socket.destroy();
  }

  async #mayGoOn(exchange: Exchange, name: string): Promise<boolean> {
    const target = await this.#deps.find(name);
    if (target?.found === undefined) return false;
    try {
      return (await this.#deps.judge(exchange, name, target)) === 'allowed';
    } catch (error) {
      if (isRefusal(error)) return false;
      throw error;
    }
  }
}

const refusals: ReadonlySet<unknown> = new Set(['not_found', 'unauthorized', 'forbidden']);

function isRefusal(error: unknown): boolean {
  return error instanceof Error && 'code' in error && refusals.has(error.code);
}
