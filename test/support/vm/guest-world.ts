// What the agent of a guest talks to: a real platform with one connector and the provider behind it, and a database node. They are
// new at each restore, with the platform's records from the moment of the snapshot.
import { cpSync } from 'node:fs';
import { Secret } from '../../../src/core/secret.ts';
import { type EchoProvider, startEchoProvider } from '../echo-provider.ts';
import { openTestPlatform, type TestPlatform } from '../open-platform.ts';
import { type ScriptedNode, startNode } from '../scripted-node.ts';
import { tempDir } from '../temp-dir.ts';
import { type Door, openDoor } from './door.ts';

export interface Doors {
  readonly platform: Door;
  readonly node: Door;
  /** Forgets what passed, and leads to this world from now on. */
  open(world: GuestWorld): void;
  close(): void;
}

export interface GuestWorld {
  readonly platform: TestPlatform;
  readonly provider: EchoProvider;
  readonly node: ScriptedNode;
}

export const SPRITE = 'web';
/** Where a caller in the guest finds the connector. */
export const CONNECTOR_PATH = '/v1/gateway/sample/conn_1';

/** A guest knows them for as long as it lives. */
export async function openDoors(): Promise<Doors> {
  const [platform, node] = [await openDoor(), await openDoor()];
  return {
    platform,
    node,
    open(world) {
      platform.open(world.platform.url);
      node.open(world.node.url);
    },
    close() {
      platform.close();
      node.close();
    },
  };
}

/** `from`: the directory of the platform whose records are gone on with; without it they are new. */
export async function openGuestWorld(doors: Doors, from?: string): Promise<GuestWorld> {
  const provider = await startEchoProvider();
  const dir = tempDir();
  if (from !== undefined) cpSync(from, dir, { recursive: true });
  const platform = await openTestPlatform({ dir, catalogue: [provider.entry('sample')] });
  const node = await startNode();
  const world = { platform, provider, node };
  doors.open(world);
  return world;
}

export interface GuestSprite {
  /** The token of its agent. */
  readonly token: Secret;
  readonly app: string;
  readonly machine: string;
}

/** Makes the sprite whose machine is the guest, with its connector. */
export async function createGuestSprite({ platform: { admin, call } }: GuestWorld): Promise<GuestSprite> {
  await admin.createSprite({ organization: 'acme', name: SPRITE, external: true });
  const api_key = new Secret('key:1');
  const access_policy = { allow_all: true };
  await admin.createConnector({ organization: 'acme', provider: 'sample', id: 'conn_1', api_key, access_policy });
  const { json } = await call({ path: '/v1/apps/acme/machines' });
  const token = await admin.createToken({ organization: 'acme', sprite: SPRITE, name: 'agent' });
  return { token, app: 'acme', machine: json[0].id };
}
