// Methods of `@fly/sprites` against a machine that is suspended, and one that is stopped: each operation below the path of a sprite once
// in each state. All methods are driven like this in the soak.
import { expect, test } from 'vitest';
import { startDev } from '../support/dev-process.ts';
import { driveAsleep } from '../support/sdk/drive-asleep.ts';
import { type OperationId, reachesIn, spriteOperationIds } from '../support/sdk/watch-requests.ts';
import { tempDir } from '../support/temp-dir.ts';

/** The method that reaches into a machine by this operation, as the first call after it slept. */
const reaching: Partial<Record<OperationId, string>> = {
  listServices: 'Sprite.listServices',
  readService: 'Sprite.getService',
  putService: 'Sprite.createService',
  deleteService: 'Sprite.deleteService',
  startService: 'Sprite.startService',
  stopService: 'Sprite.stopService',
  restartService: 'Sprite.restartService',
  followServiceLogs: 'Sprite.getServiceLogs',
  signalService: 'Sprite.signalService',
  readFile: 'SpriteFilesystem.readFile',
  writeFile: 'SpriteFilesystem.writeFile',
  listFiles: 'SpriteFilesystem.readdir',
  deleteFiles: 'SpriteFilesystem.rm',
  renameFile: 'SpriteFilesystem.rename',
  copyFiles: 'SpriteFilesystem.copyFile',
  changeFileMode: 'SpriteFilesystem.chmod',
  changeFileOwner: 'SpriteFilesystem.chown',
  watchFiles: 'SpriteFilesystem.watch',
  exec: 'Sprite.exec',
  execOverHttp: 'Sprite.execFileHTTP',
  control: 'ControlConnection.connect',
  attachProcess: 'Sprite.attachSession',
  listProcesses: 'Sprite.listSessions',
  killProcess: 'Sprite.killSession',
  proxyPort: 'Sprite.proxyPort',
  upgradeSprite: 'Sprite.upgrade',
};

/** The method of an operation that is answered from what the platform knows, or that the platform carries out by itself. */
const answered: Partial<Record<OperationId, string>> = {
  readSprite: 'SpritesClient.getSprite',
  checkSprite: 'Sprite.check',
  restartSprite: 'Sprite.restart',
  createCheckpoint: 'Sprite.createCheckpoint',
  listCheckpoints: 'Sprite.listCheckpoints',
  readCheckpoint: 'Sprite.getCheckpoint',
  restoreCheckpoint: 'Sprite.restoreCheckpoint',
  watchSpritePorts: 'Sprite.watchPorts',
  readNetworkPolicy: 'Sprite.getNetworkPolicy',
  readPrivilegesPolicy: 'Sprite.getPrivilegesPolicy',
  readResourcesPolicy: 'Sprite.getResourcesPolicy',
};

/** These reach into the machine of a sprite with a network policy only, which none has here. */
const restricted: readonly OperationId[] = ['setNetworkPolicy', 'explainNetworkPolicy', 'listRefusedConnections'];

const rows = Object.entries({ ...reaching, ...answered }) as [OperationId, string][];
const operationOf = new Map(rows.map(([id, method]) => [method, id]));

test('every operation that reaches into a machine has a row', () => {
  expect([...Object.keys(reaching), ...restricted].sort()).toEqual(spriteOperationIds.filter(reachesIn).sort());
});

test('a machine that sleeps is woken or booted by what reaches into it, and by nothing else', {
  timeout: 300_000,
}, async () => {
  await using dev = await startDev({ dir: tempDir() });
  const { passed, failures } = await driveAsleep(dev, {
    isChosen: (method) => operationOf.has(method),
    judgeAsked(method, asked) {
      const id = operationOf.get(method);
      const isAsked = id !== undefined && (reachesIn(id) ? asked[0] === id : asked.includes(id));
      return isAsked ? undefined : `it asked for ${asked.join(', ')}, not for ${id} first`;
    },
  });
  process.stdout.write(`@fly/sprites asleep: ${passed.length} of ${2 * rows.length} rows passed\n`);
  expect(failures).toEqual({});
});
