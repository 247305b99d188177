// A room of the supervisor: a group of operations with the processes or files behind them. It is loaded at its first call.
import type { Operations } from '../contract/operation.ts';
import type { AnyHandler } from '../http/edge-options.ts';
import type { Handlers } from '../http/handler.ts';
import type { SupervisorCaller } from './supervisor-caller.ts';

export interface Room<Ops extends Operations> extends AsyncDisposable {
  readonly handlers: Handlers<Ops, SupervisorCaller>;
  /** Something runs that must not end with this process: the supervisor does not stop for idleness. */
  readonly isBusy: boolean;
}

export interface LazyRoom<Ops extends Operations> extends Room<Ops> {
  /** Loads the room, if that was not done yet. */
  open(): Promise<Room<Ops>>;
}

/** `load` runs once, at the first call of one of the operations; it runs again after it failed. */
export function createLazyRoom<Ops extends Operations>(operations: Ops, load: () => Promise<Room<Ops>>): LazyRoom<Ops> {
  let opening: Promise<Room<Ops>> | undefined;
  let opened: Room<Ops> | undefined;

  async function open(): Promise<Room<Ops>> {
    opening ??= load();
    try {
      opened = await opening;
      return opened;
    } catch (error) {
      opening = undefined;
      throw error;
    }
  }

  const forward =
    (id: string): AnyHandler =>
    async (call, out) =>
      await (handlersOf(await open())[id] as AnyHandler)(call, out);
  const handlers = Object.fromEntries(Object.keys(operations).map((id) => [id, forward(id)]));
  return {
    open,
    handlers: handlers as unknown as Handlers<Ops, SupervisorCaller>,
    get isBusy() {
      return opening !== undefined && (opened === undefined || opened.isBusy);
    },
    async [Symbol.asyncDispose]() {
      if (opening !== undefined) await (await opening)[Symbol.asyncDispose]();
    },
  };
}

function handlersOf<Ops extends Operations>(room: Room<Ops>): Readonly<Record<string, unknown>> {
  return room.handlers as unknown as Readonly<Record<string, unknown>>;
}
