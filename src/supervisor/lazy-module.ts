// A module of the supervisor: a group of operations with the processes or files behind them. It is loaded at its first call.
import type { Operations } from '../contract/operation.ts';
import type { AnyHandler } from '../http/edge-options.ts';
import type { Handlers } from '../http/handler.ts';
import type { SupervisorCaller } from './supervisor-caller.ts';

export interface SupervisorModule<Ops extends Operations> extends AsyncDisposable {
  readonly handlers: Handlers<Ops, SupervisorCaller>;
  /** Something runs that must not end with this process: the supervisor does not stop for idleness. */
  readonly isBusy: boolean;
}

export interface LazyModule<Ops extends Operations> extends SupervisorModule<Ops> {
  /** Loads the module, if that was not done yet. */
  open(): Promise<SupervisorModule<Ops>>;
}

/** `load` runs once, at the first call of one of the operations; it runs again after it failed. */
export function createLazyModule<Ops extends Operations>(
  operations: Ops,
  load: () => Promise<SupervisorModule<Ops>>,
): LazyModule<Ops> {
  let opening: Promise<SupervisorModule<Ops>> | undefined;
  let opened: SupervisorModule<Ops> | undefined;

  async function open(): Promise<SupervisorModule<Ops>> {
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

function handlersOf<Ops extends Operations>(module: SupervisorModule<Ops>): Readonly<Record<string, unknown>> {
  return module.handlers as unknown as Readonly<Record<string, unknown>>;
}
