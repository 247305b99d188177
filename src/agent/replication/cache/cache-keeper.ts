// Keeps the file of the cache open and complete: sends batches to it, says when it cannot be written, and tries again until it has
// caught up.
import type { Clock } from '../../../core/clock.ts';
import { toErrorMessage } from '../../../core/error-message.ts';
import type { ReplicaEntry } from '../replica.ts';
import type { CacheBatch } from './cache-batch.ts';
import type { CacheLedger } from './cache-ledger.ts';
import type { CacheAnswer, CacheLink, CacheRequest, OpenedAnswer } from './cache-request.ts';
import { createUncommittedRows, type UncommittedRows } from './uncommitted-rows.ts';

const BATCH_MS = 25;
const RETRY_MS = 5_000;
/** A batch that takes this long is shown as slow. */
const SLOW_MS = 1_000;

/** `file`, `rebuilt`: stored. `memory`: stored until the process ends. `failed`: not stored; positions are in memory only. */
export interface CacheCondition {
  readonly state: 'file' | 'rebuilt' | 'memory' | 'failed';
  readonly reason: string | undefined;
}

export interface CacheKeeperOptions {
  readonly clock: Clock;
  readonly link: CacheLink;
  /** The current positions, to catch up after a failure. */
  readonly current: () => ReadonlyMap<string, ReplicaEntry>;
  /** Called once, with the positions of an earlier run, when the file could be read. */
  readonly onRestored: (positions: ReadonlyMap<string, ReplicaEntry>) => void;
  readonly onCondition: (condition: CacheCondition) => void;
  readonly retry_ms?: number;
}

export interface CacheKeeper extends Disposable {
  /** Opens the file; what is sent waits until then. Never rejects. */
  open(): Promise<void>;
  /** Sends what waits in the ledger as one batch, now or with what is added soon. */
  send(): void;
  sendSoon(): void;
  /** Says that something will not be stored, and why. */
  fallBehind(why: string): void;
  /** Rejects with the message of a failure. */
  ask<T extends CacheAnswer['type']>(request: CacheRequest, type: T): Promise<Extract<CacheAnswer, { type: T }>>;
  /** Set while the file is being opened. */
  readonly opening: Promise<void> | undefined;
  readonly isOpen: boolean;
  readonly condition: CacheCondition;
  /** The batches that wait for the disk. */
  readonly queue: UncommittedRows;
}

/** `keep` is how many rows of history stay in the file. */
export function createCacheKeeper(ledger: CacheLedger, keep: number, options: CacheKeeperOptions): CacheKeeper {
  const { clock, link } = options;
  const onStall = () => setCondition('failed', 'the disk of replication.db does not answer');
  const queue = createUncommittedRows({ clock, onStall });
  let condition: CacheCondition = { state: 'failed', reason: 'replication.db is not open yet' };
  let opened: Pick<OpenedAnswer, 'state' | 'reason'> | undefined;
  let isRestored = false;
  let opening: Promise<void> | undefined;
  let sendTimer: NodeJS.Timeout | undefined;
  const retries = createRetryTimer(retry, options.retry_ms ?? RETRY_MS);

  function setCondition(state: CacheCondition['state'], reason: string | undefined): void {
    if (state === 'failed' || state === 'memory') retries.start();
    if (condition.state === state && condition.reason === reason) return;
    condition = { state, reason };
    options.onCondition(condition);
  }

  function fallBehind(why: string): void {
    ledger.fallBehind();
    setCondition('failed', `replication.db cannot be written (${why}); positions live in memory only`);
  }

  const ask: CacheKeeper['ask'] = async (request, type) => {
    const answer = await link.ask(request);
    if (isType(answer, type)) return answer;
    if (answer.type !== 'failed') throw new Error(`${request.type} was answered with ${answer.type}`);
    if (!answer.isOpen) opened = undefined;
    throw new Error(answer.message);
  };

  async function openFile(): Promise<void> {
    const answer = await ask({ type: 'open' }, 'opened').catch((error: unknown) => {
      opened = undefined;
      fallBehind(toErrorMessage(error));
    });
    if (answer === undefined) return;
    if (answer.isKept) return retries.start();
    opened = answer;
    const positions = ledger.opened(answer);
    if (!isRestored && answer.state !== 'memory') {
      isRestored = true;
      options.onRestored(positions);
    }
    catchUp();
  }

  function open(): Promise<void> {
    opening = openFile().finally(() => {
      opening = undefined;
      send();
    });
    return opening;
  }

  function catchUp(): void {
    const batch = ledger.catchUp(options.current(), clock.wall_ms());
    if (batch !== undefined) void commit(batch, true);
    else if (opened !== undefined) setCondition(opened.state, opened.reason);
  }

  async function commit(batch: CacheBatch, repairs = false): Promise<void> {
    const done = queue.enter(batch.rows);
    try {
      const { ms } = await ask({ type: 'commit', batch, keep, repairs }, 'done');
      ledger.committed(batch);
      if (opened === undefined || ledger.isBehind) return;
      const slow = ms < SLOW_MS ? undefined : `the last write to replication.db took ${Math.round(ms)} ms`;
      setCondition(opened.state, opened.reason ?? slow);
    } catch (error) {
      ledger.failed(batch);
      fallBehind(toErrorMessage(error));
    } finally {
      done();
      const isIdle = queue.isEmpty && opening === undefined;
      if (ledger.isBehind && isIdle && opened !== undefined) retries.start(queue.wasFull ? 0 : undefined);
    }
  }

  function send(): void {
    clearTimeout(sendTimer);
    sendTimer = undefined;
    if (ledger.isBehind || opening !== undefined) return;
    const batch = ledger.take();
    if (batch !== undefined) void commit(batch);
  }

  function retry(): void {
    if (!queue.isEmpty || opening !== undefined) return;
    if (opened === undefined || opened.state === 'memory') {
      send();
      void open();
    } else if (ledger.isBehind) catchUp();
  }

  return {
    open,
    send,
    sendSoon() {
      sendTimer ??= setTimeout(send, BATCH_MS).unref();
    },
    fallBehind,
    ask,
    get opening() {
      return opening;
    },
    get isOpen() {
      return opened !== undefined;
    },
    get condition() {
      return condition;
    },
    queue,
    [Symbol.dispose]: () => retries.end(),
  };
}

/** One timer, which starts over with each call and never starts again after its end. */
function createRetryTimer(run: () => void, delay_ms: number): { start(ms?: number): void; end(): void } {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  return {
    start(ms = delay_ms) {
      clearTimeout(timer);
      if (!isOver) timer = setTimeout(run, ms).unref();
    },
    end() {
      isOver = true;
      clearTimeout(timer);
    },
  };
}

function isType<T extends CacheAnswer['type']>(
  answer: CacheAnswer,
  type: T,
): answer is Extract<CacheAnswer, { type: T }> {
  return answer.type === type;
}
