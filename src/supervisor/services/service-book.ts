// All services: their definitions on the disk, and a keeper for each. Every change is on the disk before it has an effect.
import type { ServiceRequest } from '../../contract/services.ts';
import { createKeyedMutex } from '../../core/keyed-mutex.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { checkNeeds, inOrder, type Needs, whoNeeds } from './needs.ts';
import type { ServiceKeeper } from './service-keeper.ts';
import type { ServiceDefinition, ServiceStore } from './service-store.ts';

type Definitions = ReadonlyMap<string, ServiceDefinition>;

export interface BookOptions {
  readonly store: ServiceStore;
  readonly close_ms: number;
  createKeeper(name: string, request: ServiceRequest): ServiceKeeper;
}

/** Runs when a change is on the disk, right before the service acts on it. */
type BeforeEffect = (keeper: ServiceKeeper) => void;

const ignore: BeforeEffect = () => undefined;
const ALL = 'definitions';

export class ServiceBook implements AsyncDisposable {
  readonly #options: BookOptions;
  readonly #keepers = new Map<string, ServiceKeeper>();
  /** One change of the definitions at a time. */
  readonly #changes = createKeyedMutex();
  /** A service is defined again only when its removal is over. */
  readonly #names = createKeyedMutex();
  #definitions: Definitions = new Map();
  #isClosed = false;

  constructor(options: BookOptions) {
    this.#options = options;
  }

  /** Loads the definitions and starts what was not stopped by hand. */
  async open(): Promise<void> {
    const definitions = await this.#options.store.load();
    this.#definitions = new Map(definitions.map((each) => [each.name, each]));
    for (const { name, request } of definitions) this.#add(name, request);
    for (const { name, isStopped } of definitions) if (!isStopped) this.get(name).start();
  }

  get isEmpty(): boolean {
    return this.#definitions.size === 0 && this.#keepers.size === 0;
  }

  /** The services, ordered by name. */
  list(): readonly ServiceKeeper[] {
    return [...this.#keepers.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Throws `not_found`. */
  get(name: string): ServiceKeeper {
    const keeper = this.#keepers.get(name);
    if (keeper === undefined) throw new RemoraError('not_found', `there is no service ${name}`);
    return keeper;
  }

  /** Rejects with `invalid_request` for its needs, with `conflict` for its port. */
  async define(name: string, request: ServiceRequest, before: BeforeEffect = ignore): Promise<void> {
    await this.#names.run(name, async () => {
      const wake = await this.#change((definitions) => {
        checkPort(definitions, name, request);
        definitions.set(name, { name, request, isStopped: false });
        checkNeeds(toNeeds(definitions));
        return wakeNeeded(definitions, name);
      });
      const keeper = this.#keepers.get(name) ?? this.#add(name, request);
      before(keeper);
      this.#startAll(wake);
      keeper.restart(request);
    });
  }

  /** Starts it, and what it needs where that was stopped by hand. */
  async start(name: string, before: BeforeEffect = ignore): Promise<void> {
    const wake = await this.#wake(name);
    const keeper = this.get(name);
    before(keeper);
    this.#startAll(wake);
    keeper.start();
  }

  async restart(name: string, before: BeforeEffect = ignore): Promise<void> {
    const wake = await this.#wake(name);
    const keeper = this.get(name);
    before(keeper);
    this.#startAll(wake);
    keeper.restart();
  }

  /** It stays stopped until it is started. Rejects with `conflict` when it is. */
  async stop(name: string, grace_ms: number, before: BeforeEffect = ignore): Promise<void> {
    if (this.get(name).status === 'stopped') throw new RemoraError('conflict', `the service ${name} is not running`);
    await this.#change((definitions) => {
      const definition = definitions.get(name);
      if (definition !== undefined) definitions.set(name, { ...definition, isStopped: true });
    });
    const keeper = this.get(name);
    before(keeper);
    keeper.stop(grace_ms);
  }

  /** Resolves when it has ended. Rejects with `conflict` when another service needs it. */
  async remove(name: string, grace_ms: number): Promise<void> {
    await this.#names.run(name, async () => {
      const keeper = this.get(name);
      await this.#change((definitions) => {
        const [other] = whoNeeds(toNeeds(definitions), name);
        if (other !== undefined) {
          throw new RemoraError('conflict', `the service ${other} needs ${name}; delete that one first`);
        }
        definitions.delete(name);
      });
      keeper.retire(grace_ms);
      await keeper.until((status) => status === 'stopped');
      this.#keepers.delete(name);
      await keeper.log[Symbol.asyncDispose]();
    });
  }

  /** Rejects with a message for people when one of them does not run in time. */
  async untilRunning(names: readonly string[], limit_ms: number, signal: AbortSignal): Promise<void> {
    const late = AbortSignal.timeout(limit_ms);
    const either = AbortSignal.any([signal, late]);
    for (const name of names) {
      try {
        await this.get(name).until((status) => status === 'running', either);
      } catch (error) {
        if (!late.aborted) throw error;
        const state = this.#keepers.get(name)?.status ?? 'deleted';
        throw new Error(
          `it needs ${name}, which does not run after ${Math.round(limit_ms / 1_000)} s; ${name} is ${state}`,
        );
      }
    }
  }

  /** Ends every service, those first that others do not need. They are started again with the next supervisor. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const needs = toNeeds(this.#definitions);
    const deadline_ms = performance.now() + this.#options.close_ms;
    const ends = new Map<string, Promise<void>>();
    const end = (name: string): Promise<void> => {
      const known = ends.get(name) ?? endOne(name);
      ends.set(name, known);
      return known;
    };
    const endOne = async (name: string): Promise<void> => {
      await Promise.all(whoNeeds(needs, name).map(end));
      const keeper = this.#keepers.get(name);
      keeper?.retire(Math.max(0, deadline_ms - performance.now()));
      await keeper?.until((status) => status === 'stopped');
      await keeper?.log[Symbol.asyncDispose]();
    };
    await Promise.all([...this.#keepers.keys()].map(end));
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new RemoraError('shutting_down', 'the supervisor is ending');
  }

  /** Throws `shutting_down`, also for a definition that is on the disk by now: the next supervisor starts it. */
  #add(name: string, request: ServiceRequest): ServiceKeeper {
    this.#checkOpen();
    const keeper = this.#options.createKeeper(name, request);
    this.#keepers.set(name, keeper);
    return keeper;
  }

  #startAll(names: readonly string[]): void {
    for (const name of names) this.#keepers.get(name)?.start();
  }

  async #wake(name: string): Promise<readonly string[]> {
    return await this.#change((definitions) => {
      if (!definitions.has(name)) throw new RemoraError('not_found', `there is no service ${name}`);
      return wakeNeeded(definitions, name);
    });
  }

  /** What `edit` throws leaves everything as it was. */
  async #change<T>(edit: (definitions: Map<string, ServiceDefinition>) => T): Promise<T> {
    return await this.#changes.run(ALL, async () => {
      this.#checkOpen();
      const definitions = new Map(this.#definitions);
      const result = edit(definitions);
      if (!isSame(definitions, this.#definitions)) await this.#options.store.save([...definitions.values()]);
      this.#definitions = definitions;
      return result;
    });
  }
}

function toNeeds(definitions: Definitions): Needs {
  return new Map([...definitions].map(([name, { request }]) => [name, request.needs]));
}

function isSame(a: Definitions, b: Definitions): boolean {
  return a.size === b.size && [...a].every(([name, definition]) => b.get(name) === definition);
}

/** Marks a service and all that it needs as not stopped by hand. The result: what was, in the order of needs, without the service itself. */
function wakeNeeded(definitions: Map<string, ServiceDefinition>, name: string): readonly string[] {
  const stopped = inOrder(toNeeds(definitions), name).filter((each) => definitions.get(each)?.isStopped === true);
  for (const each of stopped) {
    const definition = definitions.get(each);
    if (definition !== undefined) definitions.set(each, { ...definition, isStopped: false });
  }
  return stopped.filter((each) => each !== name);
}

function checkPort(definitions: Definitions, name: string, { http_port }: ServiceRequest): void {
  if (http_port == null) return;
  const other = [...definitions.values()].find((each) => each.name !== name && each.request.http_port != null);
  if (other === undefined) return;
  const message = `the service ${other.name} has the http_port ${other.request.http_port}, and one service may have one`;
  throw new RemoraError('conflict', `${message}; take it from that one first`);
}
