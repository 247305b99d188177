// The room of the services in this process, on a socket of its own, with times that a test can wait for.
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { localServiceOperations } from '../../src/contract/local/inside.ts';
import type { ServiceResponse } from '../../src/contract/services.ts';
import { createEdge } from '../../src/http/edge.ts';
import { listenOnPath } from '../../src/http/listen-on-path.ts';
import { AppEnvironment } from '../../src/supervisor/environment/app-environment.ts';
import { Restraints } from '../../src/supervisor/policy/restraints.ts';
import { type ServiceTiming, serviceTiming } from '../../src/supervisor/services/service-timing.ts';
import { openServices } from '../../src/supervisor/services/services.ts';
import { ask, type HttpAnswer } from './ask.ts';
import { silentLog } from './silent-log.ts';
import { stateDirOf } from './supervisor-process.ts';
import { tempDir } from './temp-dir.ts';

export interface ServedServices extends AsyncDisposable {
  readonly dir: string;
  readonly socket: string;
  readonly isBusy: boolean;
  readonly environment: AppEnvironment;
  call(method: string, path: string, body?: object): Promise<HttpAnswer>;
  states(): Promise<Record<string, string | undefined>>;
}

export async function serveServices(timing: Partial<ServiceTiming> = {}, dir = tempDir()): Promise<ServedServices> {
  const { uid, gid, username } = userInfo();
  const user = { name: username, uid, gid, home: dir, shell: '/bin/sh' };
  const baseEnv = { PATH: process.env.PATH ?? '' };
  const environment = new AppEnvironment({ stateDir: stateDirOf(dir) });
  const restraints = new Restraints({ stateDir: stateDirOf(dir), user });
  const options = { stateDir: stateDirOf(dir), user, baseEnv, environment, restraints, log: silentLog };
  const room = await openServices(options, { ...serviceTiming, ...timing });
  const edge = createEdge({
    operations: localServiceOperations,
    handlers: room.handlers,
    authenticate: () => ({ mayActAsRoot: false }),
    log: silentLog,
    checkAnswers: true,
  });
  const socket = join(dir, 'services.sock');
  const listening = await listenOnPath(edge.createServer('supervisor'), { path: socket, mode: 0o600 });
  let closing: Promise<void> | undefined;
  const close = async () => {
    await edge.drain(0);
    listening[Symbol.dispose]();
    await room[Symbol.asyncDispose]();
  };
  const dispose = () => {
    closing ??= close();
    return closing;
  };
  onTestFinished(dispose);
  const call = (method: string, path: string, body?: object) =>
    ask(socket, {
      method,
      target: `/v1/services${path}`,
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
  return {
    dir,
    socket,
    environment,
    call,
    get isBusy() {
      return room.isBusy;
    },
    async states() {
      const list = (await call('GET', '')).json as ServiceResponse[];
      return Object.fromEntries(list.map(({ name, state }) => [name, state?.status]));
    },
    [Symbol.asyncDispose]: dispose,
  };
}
