// The operations on services.
import { setTimeout as sleep } from 'node:timers/promises';
import type { localServiceOperations } from '../../contract/local/inside.ts';
import type { ServiceLogEvent, ServiceResponse } from '../../contract/services.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { EventSink } from '../../http/event-sink.ts';
import type { Handlers } from '../../http/handler.ts';
import type { SupervisorCaller } from '../supervisor-caller.ts';
import { Follower } from './follower.ts';
import { parseLogLine } from './log-line.ts';
import { readTail } from './log-tail.ts';
import type { ServiceBook } from './service-book.ts';
import type { ServiceKeeper } from './service-keeper.ts';
import { parseSignalName } from './signal-name.ts';

const FOLLOW_MS = 5_000;
const LINES = 100;

type Sink = EventSink<ServiceLogEvent>;
type Act = (before: (keeper: ServiceKeeper) => void) => Promise<void>;

export interface HandlerOptions {
  readonly book: ServiceBook;
  readonly stop_ms: number;
  readonly wall_ms: () => number;
}

export function createServiceHandlers(
  options: HandlerOptions,
): Handlers<typeof localServiceOperations, SupervisorCaller> {
  const { book, stop_ms, wall_ms } = options;

  /** Follows from right before the effect of `act` until `limit_ms` after what ran before has ended. */
  async function watch(sink: Sink, limit_ms: number, act: Act): Promise<void> {
    await follow(sink, act, async (keeper, gone) => {
      await keeper.until((status) => status !== 'stopping', gone);
      await sleep(limit_ms, undefined, { signal: gone });
    });
  }

  async function follow(
    sink: Sink,
    act: Act,
    untilOver: (keeper: ServiceKeeper, gone: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const gone = new AbortController();
    let followed: { keeper: ServiceKeeper; follower: Follower } | undefined;
    await act((keeper) => {
      followed = { keeper, follower: new Follower({ hub: keeper.hub, sink, wall_ms }) };
    });
    if (followed === undefined) return;
    const { keeper, follower } = followed;
    sink.onClose(() => {
      follower[Symbol.dispose]();
      gone.abort();
    });
    await unlessGone(gone.signal, () => untilOver(keeper, gone.signal));
    // What the stream has shown is in the file that it names.
    await keeper.log.position();
    follower.complete(keeper.log.path);
  }

  return {
    listServices: () => book.list().map(toResponse),
    readService: ({ params }) => toResponse(book.get(params.service)),
    putService: ({ params, query, body }, sink) =>
      watch(sink, query.duration ?? FOLLOW_MS, (before) => book.define(params.service, body, before)),
    deleteService: ({ params }) => book.remove(params.service, stop_ms),
    startService: ({ params, query }, sink) =>
      watch(sink, query.duration ?? FOLLOW_MS, (before) => book.start(params.service, before)),
    restartService: ({ params, query }, sink) =>
      watch(sink, query.duration ?? FOLLOW_MS, (before) => book.restart(params.service, before)),
    async stopService({ params, query }, sink) {
      const act: Act = (before) =>
        book.stop(params.service, query.timeout ?? stop_ms, (keeper) => {
          before(keeper);
          // Somebody else stops it already.
          if (keeper.status === 'stopping') sink.send({ type: 'stopping', timestamp: wall_ms() });
        });
      await follow(sink, act, (keeper, gone) => keeper.until((status) => status !== 'stopping', gone));
    },
    async followServiceLogs({ params, query }, sink) {
      const { hub, log } = book.get(params.service);
      const gone = new AbortController();
      using follower = new Follower({ hub, sink, wall_ms, isHeld: true });
      sink.onClose(() => gone.abort());
      const size_bytes = await log.position();
      await readTail(log.path, size_bytes, query.lines ?? LINES, async (lines) => {
        await follower.sendOlder(lines.map(parseLogLine).filter((event) => event !== undefined));
      });
      const { duration = 0 } = query;
      if (duration > 0) {
        follower.release();
        await unlessGone(gone.signal, () => sleep(duration, undefined, { signal: gone.signal }));
      }
      follower.complete(log.path);
    },
    async signalService({ body }) {
      const keeper = book.get(body.name);
      const signal = parseSignalName(body.signal);
      if (signal === undefined) {
        throw new RemoraError('invalid_request', `there is no signal ${body.signal}; name one such as SIGHUP`);
      }
      if (!(await keeper.signal(signal)))
        throw new RemoraError('invalid_state', `the service ${body.name} is not running`);
    },
  };
}

async function unlessGone(gone: AbortSignal, wait: () => Promise<void>): Promise<void> {
  try {
    await wait();
  } catch (error) {
    if (!gone.aborted) throw error;
  }
}

/** Values of variables are never given back. */
function toResponse(keeper: ServiceKeeper): ServiceResponse {
  const { cmd, args, needs, dir, http_port, restart_on_environment_change } = keeper.request;
  return {
    name: keeper.name,
    cmd,
    args,
    needs,
    ...(dir === undefined ? {} : { dir }),
    ...(http_port === undefined ? {} : { http_port }),
    ...(restart_on_environment_change === undefined ? {} : { restart_on_environment_change }),
    state: keeper.state(),
  };
}
