// The operations of /v1/tasks.
import type { taskOperations } from '../../contract/local/tasks.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Holds } from './holds.ts';

type TaskOperations = Omit<typeof taskOperations, 'idle'>;

/** `beforeHold` calls off a suspend that the platform prepares, and resolves when it does not come any more. */
export function createHoldHandlers(
  holds: Holds,
  beforeHold: (name: string) => Promise<void> = async () => undefined,
): Handlers<TaskOperations, unknown> {
  function existing(name: string) {
    const task = holds.get(name);
    if (task === undefined) throw new RemoraError('not_found', `there is no hold ${name}`);
    return task;
  }

  function mustBeFree(name: string): void {
    if (holds.get(name) === undefined) return;
    throw new RemoraError('already_exists', `the hold ${name} exists; PUT /v1/tasks/${name} renews it`);
  }

  return {
    listTasks: () => ({ tasks: holds.list() }),
    async createTask({ body }) {
      await beforeHold(body.name);
      mustBeFree(body.name);
      return holds.put(toRequest(body.name, body));
    },
    readTask: ({ params }) => existing(params.name),
    async putTask({ params, body }) {
      await beforeHold(params.name);
      if (holds.get(params.name)?.connection === true && !holds.isFree(params.name)) {
        throw new RemoraError(
          'conflict',
          `the hold ${params.name} belongs to an open connection; end that, or use another name`,
        );
      }
      return holds.put(toRequest(params.name, body));
    },
    deleteTask({ params }) {
      existing(params.name);
      holds.release(params.name, 'released');
    },
    async holdTask({ params, query }, sink) {
      const { name } = params;
      await beforeHold(name);
      if (!holds.isFree(name)) mustBeFree(name);
      const task = holds.put({
        name,
        mode: query.mode,
        reason: query.reason,
        pid: undefined,
        connection: true,
        expire_ms: 0,
      });
      sink.onClose(() => holds.release(name, 'connection_closed'));
      sink.send({ type: 'held', task });
    },
  };
}

interface Body {
  readonly mode: 'block' | 'delay';
  readonly reason?: string | undefined;
  readonly pid?: number | undefined;
  readonly expire: number;
}

function toRequest(name: string, body: Body) {
  return { name, mode: body.mode, reason: body.reason, pid: body.pid, connection: false, expire_ms: body.expire };
}
