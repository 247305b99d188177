// The module of the processes: programs that callers run, see, attach to and end.
import type { SupervisorModule } from '../lazy-module.ts';
import { createProcessHandlers } from './process-handlers.ts';
import { Sessions, type SessionsOptions } from './sessions.ts';
import type { SupervisedProcessOperations } from './supervised-operations.ts';

export function openProcesses(options: SessionsOptions): SupervisorModule<SupervisedProcessOperations> {
  const sessions = new Sessions(options);
  return {
    handlers: createProcessHandlers(sessions),
    get isBusy() {
      return !sessions.isEmpty;
    },
    [Symbol.asyncDispose]: () => sessions[Symbol.asyncDispose](),
  };
}
