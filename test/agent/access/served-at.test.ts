// Which operation of the agent is served at which listener, and to which token: every one, over real listeners.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, test } from 'vitest';
import { createAuthenticator } from '../../../src/agent/access/authenticator.ts';
import { agentOperations } from '../../../src/contract/agent-operations.ts';
import { listenerNames } from '../../../src/contract/listeners.ts';
import { RemoraError } from '../../../src/core/remora-error.ts';
import { createEdge } from '../../../src/http/edge.ts';
import { listenOnPath } from '../../../src/http/listen-on-path.ts';
import { listenOnLoopback } from '../../../src/http/listen-on-tcp.ts';
import { checkServedAt } from '../../../src/http/served-at.ts';
import { spawnAgent } from '../../support/agent-process.ts';
import { ask, type HttpAnswer } from '../../support/ask.ts';
import { sourcePath } from '../../support/run-remora.ts';
import { silentLog } from '../../support/silent-log.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** The columns: the two sockets, then loopback with no token, one of all connectors, one of this connector, one of another. */
const TABLE = `
health served served 401:unauthorized served 403:forbidden 403:forbidden
ready served served 401:unauthorized served 403:forbidden 403:forbidden
status served served 401:unauthorized served 403:forbidden 403:forbidden
metrics served served 401:unauthorized served 403:forbidden 403:forbidden
openapi served served 401:unauthorized served 403:forbidden 403:forbidden
checkAgent served served 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
info served served 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
watchEvents served served 401:unauthorized served 403:forbidden 403:forbidden
machine served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
suspendMe served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
suspendThis served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
waitThis served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
startThis served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
stopThis served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
machineResumed served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
listTasks served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
createTask served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
readTask served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
putTask served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
deleteTask served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
holdTask served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
idle served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
consentToSleep 403:forbidden 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
listGateway served 403:read_only 401:unauthorized served 403:forbidden 403:forbidden
explainGateway served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
listProviders served 403:read_only 401:unauthorized served 403:forbidden 403:forbidden
gatewayGuide served 403:read_only 401:unauthorized served 403:forbidden 403:forbidden
createGatewayToken served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
listGatewayTokens served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
revokeGatewayToken served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
gatewayLog served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
gateway served 403:read_only 401:unauthorized served served 403:forbidden
listConnections served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
readConnection served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
listPorts served served 401:unauthorized served 403:forbidden 403:forbidden
watchPorts served served 401:unauthorized served 403:forbidden 403:forbidden
watchSpritePorts served served 401:unauthorized served 403:forbidden 403:forbidden
waitForPort served served 401:unauthorized served 403:forbidden 403:forbidden
nodeEvents served served 401:unauthorized served 403:forbidden 403:forbidden
replication served served 401:unauthorized served 403:forbidden 403:forbidden
replicaPosition served served 401:unauthorized served 403:forbidden 403:forbidden
waitForTransaction served served 401:unauthorized served 403:forbidden 403:forbidden
replicationToken served served 401:unauthorized served 403:forbidden 403:forbidden
cachedTransactions served served 401:unauthorized served 403:forbidden 403:forbidden
listServices served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
readService served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
putService served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
deleteService served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
startService served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
stopService served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
restartService served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
followServiceLogs served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
signalService served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
readFile served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
writeFile served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
listFiles served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
deleteFiles served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
renameFile served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
copyFiles served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
changeFileMode served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
changeFileOwner served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
watchFiles 426:upgrade_required 426:upgrade_required 426:upgrade_required 426:upgrade_required 426:upgrade_required 426:upgrade_required
exec served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
execOverHttp served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
control 426:upgrade_required 426:upgrade_required 426:upgrade_required 426:upgrade_required 426:upgrade_required 426:upgrade_required
attachProcess 426:upgrade_required 426:upgrade_required 426:upgrade_required 426:upgrade_required 426:upgrade_required 426:upgrade_required
listProcesses served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
killProcess served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
createCheckpoint served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
listCheckpoints served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
readCheckpoint served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
deleteCheckpoint served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
restoreCheckpoint served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
setNetworkPolicy served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
setPrivilegesPolicy served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
deletePrivilegesPolicy served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
setResourcesPolicy served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
deleteResourcesPolicy served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
readNetworkPolicy served served 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
enforceNetworkPolicy 403:forbidden 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
explainNetworkPolicy served served 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
listRefusedConnections served served 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
readPrivilegesPolicy served served 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
readResourcesPolicy served served 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
readProgramPolicy 403:forbidden 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
enforceProgramPolicy 403:forbidden 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
upgradeAgent served 403:read_only 401:unauthorized 403:forbidden 403:forbidden 403:forbidden
`;

const never = new AbortController().signal;
const capabilities = new Map([
  ['all', { until: never }],
  ['this', { until: never, connector_id: 'this' }],
  ['other', { until: never, connector_id: 'other' }],
]);

/** The listeners of an agent, in front of handlers that say that they were reached. */
async function serveAll() {
  const reached = () => {
    throw new RemoraError('not_implemented', 'reached');
  };
  const edge = createEdge({
    operations: agentOperations,
    handlers: Object.fromEntries(Object.keys(agentOperations).map((id) => [id, reached])) as never,
    authenticate: createAuthenticator({
      verifyToken: (token) => capabilities.get(token),
      onRefused: () => undefined,
    }),
    log: silentLog,
  });
  onTestFinished(() => edge.drain(0));
  const dir = tempDir();
  const [socket, readonly] = [join(dir, 'main.sock'), join(dir, 'readonly.sock')];
  await listenOnPath(edge.createServer('socket'), { path: socket, mode: 0o600 });
  await listenOnPath(edge.createServer('readonly'), { path: readonly, mode: 0o600 });
  const { port } = await listenOnLoopback(edge.createServer('loopback'), '127.0.0.1', 0);
  return { socket, readonly, origin: `http://127.0.0.1:${port}` };
}

/** Arguments are read after the listener has let a call in, so that one that lacks them is served. */
function toWord({ status, json }: Pick<HttpAnswer, 'status' | 'json'>): string {
  const { error } = json as { error: string };
  return error === 'not_implemented' || error === 'invalid_request' ? 'served' : `${status}:${error}`;
}

test('the daemon does not start while an operation does not say where it is served', async () => {
  const dir = tempDir();
  // Only the sources have the operations in a module that a test can change before the daemon reads it.
  const module = new URL('../../../src/contract/agent-operations.ts', import.meta.url).href;
  const early = join(dir, 'early.mjs');
  writeFileSync(early, `import { agentOperations } from '${module}'; delete agentOperations.idle.servedAt;`);
  const agent = spawnAgent({ NODE_OPTIONS: `--import=${early}` }, dir, sourcePath);
  expect(await agent.ended).not.toBe(0);
  expect(agent.log()).toContain('operation idle does not say at which listeners it is served');
  expect(existsSync(agent.socket)).toBe(false);
});

it.each([
  ['names none', []],
  ['names what is no listener', ['socket', 'tcp']],
  ['names one twice', ['socket', 'socket']],
])('an operation that %s is refused at the start', (_, servedAt) => {
  expect(() => checkServedAt({ idle: { ...agentOperations.idle, servedAt } }, listenerNames)).toThrow(/operation idle/);
});

test('each operation is served at its listeners and at no other', async () => {
  const { socket, readonly, origin } = await serveAll();
  const lines: string[] = [];
  for (const [id, { method, path }] of Object.entries(agentOperations)) {
    const sent = method === '*' ? 'GET' : method;
    const target = path.replace('{connector_id}', 'this').replaceAll(/\{[\w.]+\}/g, 'x');
    const words = [];
    for (const at of [socket, readonly]) words.push(toWord(await ask(at, { method: sent, target })));
    for (const token of [undefined, ...capabilities.keys()]) {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const answer = await fetch(origin + target, { method: sent, headers });
      words.push(toWord({ status: answer.status, json: await answer.json() }));
    }
    lines.push([id, ...words].join(' '));
  }
  expect(`\n${lines.join('\n')}\n`).toBe(TABLE);
});
