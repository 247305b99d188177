// The operations inside a sprite: each is passed on, over the channel of its machine, to the agent, which has the operation without the
// name of the sprite. Only the operations of this list reach an agent, never a path that a caller makes up.
import { AGENT_AUTHORITY, toPortAuthority } from '../../contract/channel.ts';
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
import type { Principal } from '../tokens/principal.ts';
import { auditExec } from './exec-audit.ts';
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

/** Operations that run a process whose end this platform does not read. */
const audited = ['exec', 'control'] as const;

export function createSpriteApiHandlers(reach: ReachMachine, log: Pick<Log, 'info'>): SpriteApiHandlers {
  type Run = PassOn<Principal>['run'];
  const passAny: Run = async ({ request, params, principal, upgrade }, response) => {
    const tunnel = toTunnel(request, upgrade, 0);
    const { dispatcher } = await reach(principal, params.name ?? '');
    await streamExchange(request, response, {
      dispatcher: () => dispatcher,
      origin: 'http://agent',
      path: (request.url ?? '').replace(SPRITE_PATH, '/v1'),
      headers,
      from: 'machine',
      bodyCap_bytes: NO_CAP,
      ...(tunnel === undefined ? {} : { tunnel }),
    });
  };
  const passOn = new PassOn<Principal>(passAny);
  const passAudited = (operation: string) =>
    new PassOn<Principal>(async (call, response) => {
      const { principal, params, request } = call;
      auditExec(log, operation, { principal, sprite: params.name, target: request.url ?? '' });
      await passAny(call, response);
    });
  const execOverHttp = new PassOn<Principal>(async ({ request, params, principal }, response) => {
    const channel = await reach(principal, params.name ?? '');
    const connect = () => channel.connect(AGENT_AUTHORITY);
    let exit_code: number | undefined;
    try {
      exit_code = await execOverWebSocket(request, response, { connect, path: '/v1/exec', from: 'machine' });
    } finally {
      const target = request.url ?? '';
      auditExec(log, 'execOverHttp', { principal, sprite: params.name, target, exit_code });
    }
  });
  const handlers = {
    ...Object.fromEntries(Object.keys(passedOperations).map((id) => [id, passOn])),
    ...Object.fromEntries(audited.map((id) => [id, passAudited(id)])),
    execOverHttp,
  };
  return {
    ...(handlers as unknown as EdgeHandlers<typeof passedOperations, Principal>),
    async proxyPort({ request, params, principal, upgrade }) {
      if (upgrade === undefined) throw new Error('a port was not asked for by an upgrade');
      const channel = await reach(principal, params.name);
      await proxyPort(request, upgrade, (port, signal) => channel.connect(toPortAuthority(port), signal));
    },
  };
}
