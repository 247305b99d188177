// Which operation of the platform is served at which listener, and to which token: every one, at a real platform.
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Operation } from '../../src/contract/operation.ts';
import { OPERATOR_SOCKET } from '../../src/contract/organizations.ts';
import { platformOperations } from '../../src/contract/platform-operations.ts';
import { Secret } from '../../src/core/secret.ts';
import { machineCommand, openTestPlatform } from '../support/open-platform.ts';

/** The columns: the address of the platform with no token, one of an organization, one of a sprite, one of a machine; its socket; its metrics. */
const TABLE = `
health served served served served served served
metrics 404:not_found 404:not_found 404:not_found 404:not_found served served
openapi served served served served served 404:not_found
createSprite 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
listSprites 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
readSprite 401:unauthorized served served served served 404:not_found
updateSprite 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
deleteSprite 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
watchSprites 401:unauthorized served 403:forbidden 403:forbidden 403:forbidden 404:not_found
listConnections 401:unauthorized served served served served 404:not_found
createApiKeyConnection 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
readConnection 401:unauthorized served served 403:forbidden served 404:not_found
updateConnection 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
replaceConnection 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
deleteConnection 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
provisionConnection 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
authorizeConnection 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
completeConnection 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
landOnCallback served served served served served 404:not_found
listGateway 401:unauthorized served served served served 404:not_found
watchGateway 401:unauthorized 403:forbidden served served 403:forbidden 404:not_found
gateway 401:unauthorized served served served 403:forbidden 404:not_found
explainCall 401:unauthorized served served served served 404:not_found
listProviders 401:unauthorized served served served served 404:not_found
gatewayGuide 401:unauthorized served served 403:forbidden served 404:not_found
readGatewayUsage 401:unauthorized served served 403:forbidden served 404:not_found
createApp 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
listApps 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
readApp 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
deleteApp 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
listAppSecrets 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
setAppSecret 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
deleteAppSecret 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
readMachineSecrets 401:unauthorized 403:forbidden served served 403:forbidden 404:not_found
listMachines 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
readMachine 401:unauthorized served served served served 404:not_found
readMachineLog 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
suspendMachine 401:unauthorized served served served served 404:not_found
waitMachine 401:unauthorized served served served served 404:not_found
startMachine 401:unauthorized served served served served 404:not_found
stopMachine 401:unauthorized served served served served 404:not_found
adoptMachine 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
listMachineEvents 401:unauthorized served served served served 404:not_found
followMachineEvents 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
createMachine 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
updateMachine 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
destroyMachine 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
restartMachine 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
signalMachine 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
listMachineVersions 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
cordonMachine 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
uncordonMachine 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
readMachineIdle 401:unauthorized served served served served 404:not_found
readLease 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
acquireLease 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
releaseLease 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
readMachineMetadata 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
replaceMachineMetadata 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
readMachineMetadataKey 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
setMachineMetadataKey 401:unauthorized served served served served 404:not_found
putMachineMetadataKey 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
deleteMachineMetadataKey 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
readMachineUsage 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
listVolumes 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
createVolume 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
readVolume 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
updateVolume 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
deleteVolume 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
extendVolume 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
listVolumeSnapshots 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
openChannel 401:unauthorized 403:forbidden served served 403:forbidden 404:not_found
openLane 401:unauthorized 403:forbidden served served 403:forbidden 404:not_found
openPipe 401:unauthorized served 403:forbidden 403:forbidden 403:forbidden 404:not_found
listServices 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
readService 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
putService 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
deleteService 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
startService 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
stopService 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
restartService 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
followServiceLogs 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
signalService 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
readFile 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
writeFile 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
listFiles 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
deleteFiles 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
renameFile 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
copyFiles 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
changeFileMode 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
changeFileOwner 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
watchFiles 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
exec 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
execOverHttp 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
control 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
attachProcess 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
listProcesses 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
killProcess 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
createCheckpoint 401:unauthorized served served served served 404:not_found
listCheckpoints 401:unauthorized served served served served 404:not_found
readCheckpoint 401:unauthorized served served served served 404:not_found
deleteCheckpoint 401:unauthorized served served served served 404:not_found
restoreCheckpoint 401:unauthorized served served served served 404:not_found
proxyPort 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
readNetworkPolicy 401:unauthorized served served served served 404:not_found
setNetworkPolicy 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
explainNetworkPolicy 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
listRefusedConnections 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
readPrivilegesPolicy 401:unauthorized served served served served 404:not_found
setPrivilegesPolicy 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
deletePrivilegesPolicy 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
readResourcesPolicy 401:unauthorized served served served served 404:not_found
setResourcesPolicy 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
deleteResourcesPolicy 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
restartSprite 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
checkSprite 401:unauthorized served served 403:forbidden served 404:not_found
upgradeSprite 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
reportResume 401:unauthorized 403:forbidden served served 403:forbidden 404:not_found
postPortNotices 401:unauthorized 403:forbidden served served 403:forbidden 404:not_found
listSpritePorts 401:unauthorized served served 403:forbidden served 404:not_found
watchSpritePorts 401:unauthorized served served 403:forbidden 403:forbidden 404:not_found
listTokens 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
createToken 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
deleteToken 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
readOwnOrganization 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
listOrganizations 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
createOrganization 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
readOrganization 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
updateOrganization 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
deleteOrganization 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
listUsers 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
createUser 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
readUser 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
deleteUser 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
resetPassword 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
setMember 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
removeMember 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
authorizeSignOn served served served served 403:forbidden 404:not_found
submitSignOn served served served served 403:forbidden 404:not_found
beginSignIn served served served served 403:forbidden 404:not_found
landOnSignIn served served served served 403:forbidden 404:not_found
exchangeToken served served served served 403:forbidden 404:not_found
readTokenInfo served served served served 403:forbidden 404:not_found
revokeSignOn served served served served 403:forbidden 404:not_found
showSignOut served served served served 403:forbidden 404:not_found
signOut served served served served 403:forbidden 404:not_found
readSignOnMetadata served served served served 403:forbidden 404:not_found
listHosts 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
drainHost 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
undrainHost 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
forgetHost 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
createExtensionProvider 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
listExtensionProviders 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
readExtensionProvider 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
updateExtensionProvider 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
rotateExtensionSecret 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
deleteExtensionProvider 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
createExtension 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
listExtensions 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
readExtension 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
updateExtension 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
retryExtension 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
deleteExtension 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
signOnAtExtension 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
listExtensionWebhooks 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
receiveExtensionWebhook served served served served 403:forbidden 404:not_found
readExtensionCosts 401:unauthorized served 403:forbidden 403:forbidden served 404:not_found
listCostTotals 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
exportCostTotals 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
fetchProviderCosts 401:unauthorized 403:forbidden 403:forbidden 403:forbidden served 404:not_found
`;

interface Place {
  readonly host?: string;
  readonly port?: number;
  readonly socketPath?: string;
}

/** `served`, or the status and code of the refusal. What the operation itself finds wrong with the call is not looked at. */
function judge(place: Place, { method, path, upgrade, form }: Operation, token?: Secret): Promise<string> {
  const target = path.replaceAll(/\{[\w.]+\}/g, 'x');
  const headers = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` }),
    ...(upgrade === undefined ? {} : { connection: 'Upgrade', upgrade }),
    ...(form === undefined ? {} : { accept: 'application/x-ndjson' }),
  };
  return new Promise((resolve, reject) => {
    const call = request(
      { ...place, method: method === '*' ? 'GET' : method, path: target, headers, agent: false },
      (response) => {
        const { statusCode = 0, headers: answered } = response;
        if (statusCode < 400) {
          response.destroy();
          resolve('served');
          return;
        }
        let text = '';
        response.on('data', (chunk: Buffer) => {
          text += chunk;
        });
        response.once('end', () => {
          const ofListener = /listener|platform's own socket|takes a token|does not open this|send Authorization/.test(
            text,
          );
          resolve(ofListener ? `${statusCode}:${answered['remora-error'] ?? JSON.parse(text).error}` : 'served');
        });
      },
    );
    call.once('error', reject);
    call.end();
  });
}

test('the platform does not start while an operation does not say where it is served', async () => {
  const row: { servedAt?: readonly string[] } = platformOperations.listHosts;
  const { servedAt } = row;
  onTestFinished(() => {
    row.servedAt = servedAt as readonly string[];
  });
  delete row.servedAt;
  await expect(openTestPlatform()).rejects.toThrow('operation listHosts does not say at which listeners it is served');
});

test('each operation is served at its listeners and at no other', async () => {
  const platform = await openTestPlatform({
    agentCommand: machineCommand(),
    metrics: { listen: { host: '127.0.0.1', port: 0 } },
  });
  await platform.admin.createSprite({ organization: 'acme', name: 'one' });
  const sprite = await platform.admin.createToken({ organization: 'acme', sprite: 'one' });
  const one = { organization: 'acme', sprite: 'one' };
  await platform.admin.startMachine(one);
  const { dir } = await platform.admin.readMachine(one);
  const machine = new Secret(readFileSync(join(dir, 'token'), 'utf8'));
  const tcp = { host: '127.0.0.1', port: Number(new URL(platform.url).port) };
  const operator = { socketPath: join(platform.dir, OPERATOR_SOCKET) };
  const metrics = { host: '127.0.0.1', port: Number(platform.log.find(({ message }) => message === 'metrics')?.port) };
  const lines: string[] = [];
  for (const [id, operation] of Object.entries<Operation>(platformOperations)) {
    const words = [];
    for (const token of [undefined, platform.token, sprite, machine]) words.push(await judge(tcp, operation, token));
    for (const place of [operator, metrics]) words.push(await judge(place, operation));
    lines.push([id, ...words].join(' '));
  }
  expect(`\n${lines.join('\n')}\n`).toBe(TABLE);
});
