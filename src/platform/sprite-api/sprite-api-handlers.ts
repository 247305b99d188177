// The operations inside a sprite: each is passed on, over the channel of its machine, to the agent, which has the operation without the
// name of the sprite. Only the operations of this list reach an agent, never a path that a caller makes up.
import type { ServerResponse } from 'node:http';
import { AGENT_AUTHORITY, type LaneOperation, laneIds, toPortAuthority } from '../../contract/channel.ts';
import { fileOperations } from '../../contract/files.ts';
import { processOperations } from '../../contract/processes.ts';
import type { proxyOperations } from '../../contract/proxy.ts';
import { serviceOperations } from '../../contract/services.ts';
import { InnerHeaders } from '../../core/http/inner-headers.ts';
import type { Log } from '../../core/log.ts';
import { execOverWebSocket } from '../../http/exec-over-websocket.ts';
import type { EdgeHandlers } from '../../http/handler.ts';
import { PassOn } from '../../http/pass-on.ts';
import { streamExchange } from '../../http/streaming-proxy.ts';
import { toTunnel } from '../../http/to-tunnel.ts';
import type { TunnelObserver } from '../../http/tunnel.ts';
import type { ChannelSession } from '../channels/channel-session.ts';
import type { Principal } from '../tokens/principal.ts';
import { ControlReader } from './control-reader.ts';
import { auditExec, auditExecBegin, readExecTarget } from './exec-audit.ts';
import { ExitReader } from './exit-reader.ts';
import type { OtherPlatforms } from './other-platforms.ts';
import { proxyPort } from './proxy-port.ts';
import type { ReachMachine } from './reach-machine.ts';

/** The operations that are passed on. */
export const passedOperations = {
  ...serviceOperations,
  ...fileOperations,
  ...processOperations,
} as const;

const headers = new InnerHeaders();
/** The largest body: a file is streamed, and its size is limited by the disk of the machine. */
const NO_CAP = Number.MAX_SAFE_INTEGER;
/** Everything before the part that the agent serves under `/v1`. */
const SPRITE_PATH = /^\/v1\/sprites\/[^/?]+/;

type SpriteApiHandlers = EdgeHandlers<typeof passedOperations & typeof proxyOperations, Principal>;

export interface SpriteApiDeps {
  readonly reach: ReachMachine;
  /** Undefined where there is one platform process only. */
  readonly others: Pick<OtherPlatforms, 'pass' | 'exec'> | undefined;
  readonly log: Pick<Log, 'info'>;
}

export function createSpriteApiHandlers({ reach, others, log }: SpriteApiDeps): SpriteApiHandlers {
  type Run = PassOn<Principal>['run'];

  /** The channel of the machine; undefined when the call went to another platform process and is over. */
  async function toChannel(
    { request, params, principal, upgrade }: Parameters<Run>[0],
    response: ServerResponse,
  ): Promise<ChannelSession | undefined> {
    const reached = await reach(request, principal, params.name ?? '');
    if ('channel' in reached) return reached.channel;
    await others?.pass(reached.host, { request, principal, upgrade }, response);
    return undefined;
  }

  async function pass(
    call: Parameters<Run>[0],
    response: Parameters<Run>[1],
    { observe, lane }: { readonly observe?: () => TunnelObserver; readonly lane?: LaneOperation } = {},
  ): Promise<void> {
    const { request, upgrade } = call;
    const tunnel = toTunnel(request, upgrade, 0);
    const channel = await toChannel(call, response);
    if (channel === undefined) return;
    const dispatcher = lane === undefined ? channel.dispatcher : channel.bulk[lane];
    const observer = observe?.();
    await streamExchange(request, response, {
      dispatcher: () => dispatcher,
      origin: 'http://agent',
      path: (request.url ?? '').replace(SPRITE_PATH, '/v1'),
      headers,
      from: 'machine',
      asksNotToHold: true,
      bodyCap_bytes: NO_CAP,
      ...(tunnel === undefined ? {} : { tunnel: { ...tunnel, ...(observer === undefined ? {} : { observer }) } }),
    });
  }

  const toRun = (operation: string, { principal, params, request }: Parameters<Run>[0]) => {
    const { isTerminal, ...target } = readExecTarget(request.url ?? '');
    return { run: { operation, principal, sprite: params.name, ...target }, isTerminal };
  };
  const exec: Run = async (call, response) => {
    const { run, isTerminal } = toRun('exec', call);
    const exit = new ExitReader(isTerminal);
    let isBegun = false;
    const observe = () => {
      isBegun = true;
      auditExecBegin(log, run);
      return { fromUpstream: (chunk: Buffer) => exit.push(chunk) };
    };
    await pass(call, response, { observe }).finally(() => isBegun && auditExec(log, run, exit.exit_code));
  };
  const control: Run = async (call, response) => {
    const { run } = toRun('control', call);
    const reader = new ControlReader({
      onStart: ({ command }) => auditExecBegin(log, { ...run, command }),
      onEnd: ({ command }, exit_code) => auditExec(log, { ...run, command }, exit_code),
    });
    const fromCaller = (chunk: Buffer) => reader.fromCaller(chunk);
    const fromUpstream = (chunk: Buffer) => reader.fromMachine(chunk);
    const observe = () => ({ fromCaller, fromUpstream });
    await pass(call, response, { observe }).finally(() => reader.end());
  };
  const execOverHttp: Run = async (call, response) => {
    const { request, params, principal } = call;
    const { run } = toRun('execOverHttp', call);
    const reached = await reach(request, principal, params.name ?? '');
    if ('host' in reached) {
      await others?.exec(reached.host, call, response);
      return;
    }
    const connect = () => reached.channel.connect(AGENT_AUTHORITY);
    auditExecBegin(log, run);
    let exit_code: number | undefined;
    try {
      exit_code = await execOverWebSocket(request, response, { connect, path: '/v1/exec', from: 'machine' });
    } finally {
      auditExec(log, run, exit_code);
    }
  };
  const passOn = new PassOn<Principal>((call, response) => pass(call, response));
  const handlers = {
    ...Object.fromEntries(Object.keys(passedOperations).map((id) => [id, passOn])),
    ...Object.fromEntries(
      laneIds.map((lane) => [lane, new PassOn<Principal>((call, response) => pass(call, response, { lane }))]),
    ),
    exec: new PassOn(exec),
    control: new PassOn(control),
    execOverHttp: new PassOn(execOverHttp),
  };
  return {
    ...(handlers as unknown as EdgeHandlers<typeof passedOperations, Principal>),
    proxyPort: new PassOn(async (call, response) => {
      const { request, upgrade } = call;
      if (upgrade === undefined) throw new Error('a port was not asked for by an upgrade');
      const channel = await toChannel(call, response);
      if (channel === undefined) return;
      await proxyPort(request, upgrade, (port, signal) => channel.connect(toPortAuthority(port), signal));
    }),
  };
}
