// What `Sprite` does with the record of a sprite, its policies and its checkpoints.
import { PortWatcher, type Sprite, SpriteFilesystem } from '@fly/sprites';
import { expect } from 'vitest';
import { eventually } from '../../eventually.ts';
import { drain, type Steps } from '../sdk-stack.ts';

/** A machine that does not run is booted, and its service with it: a watch is followed all the while. */
async function seePort(sprite: Sprite, port: number): Promise<void> {
  const watcher = await sprite.watchPorts();
  const seen: number[] = [];
  await sprite.execFile('true');
  await eventually(async () => {
    const event = await watcher.next();
    if (event?.type === 'port_list') seen.push(...(event.ports ?? []).map((one) => one.port));
    if (event?.type === 'port_opened') seen.push(event.port);
    return seen.includes(port);
  });
  watcher.close();
}

const NOT_DONE = /status 501.*not_supported/;

export const spriteSteps: Steps = {
  'Sprite.update': async ({ sprite }) => expect((await sprite.update({ labels: ['x'] })).labels).toEqual(['x']),
  'Sprite.updateURLSettings': async ({ client, sprite }) => {
    await sprite.updateURLSettings({ auth: 'public' });
    expect((await client.getSprite(sprite.name)).urlSettings).toEqual({ auth: 'public' });
  },
  'Sprite.check': async ({ sprite, state }) =>
    expect((await sprite.check()).status).toBe(state === 'running' ? 'healthy' : 'asleep'),
  'Sprite.upgrade': async ({ sprite }) => await sprite.upgrade(),
  'Sprite.restart': async ({ sprite, machine }) => {
    expect((await sprite.restart()).machineId).toBe(machine.id);
    await machine.wait('running');
  },
  'Sprite.delete': async ({ client, sprite }) => {
    const made = await client.createSprite(`${sprite.name}-deleted`);
    await made.delete();
    await expect(client.getSprite(made.name)).rejects.toMatchObject({ statusCode: 404 });
  },
  'Sprite.destroy': async ({ client, sprite }) => {
    const made = await client.createSprite(`${sprite.name}-destroyed`);
    await made.destroy();
    await expect(client.getSprite(made.name)).rejects.toMatchObject({ statusCode: 404 });
  },
  'Sprite.filesystem': async ({ sprite }) => expect(sprite.filesystem()).toBeInstanceOf(SpriteFilesystem),
  'Sprite.watchPorts': async ({ sprite }) => {
    const watcher = await sprite.watchPorts();
    expect(watcher).toBeInstanceOf(PortWatcher);
    watcher.close();
  },
  'Sprite.getNetworkPolicy': async ({ sprite }) => expect(await sprite.getNetworkPolicy()).toEqual({ rules: [] }),
  'Sprite.updateNetworkPolicy': async ({ sprite }) => {
    const rules = [{ action: 'allow', domain: 'example.com' } as const];
    await expect(sprite.updateNetworkPolicy({ rules })).rejects.toThrow(NOT_DONE);
  },
  'Sprite.getPrivilegesPolicy': async ({ sprite }) => expect(await sprite.getPrivilegesPolicy()).toEqual({}),
  'Sprite.updatePrivilegesPolicy': async ({ sprite }) => {
    await expect(sprite.updatePrivilegesPolicy({ profile: 'minimal' })).rejects.toThrow(NOT_DONE);
  },
  'Sprite.deletePrivilegesPolicy': async ({ sprite }) => await sprite.deletePrivilegesPolicy(),
  'Sprite.getResourcesPolicy': async ({ sprite }) => {
    expect(await sprite.getResourcesPolicy()).toEqual({ memory: undefined });
  },
  'Sprite.updateResourcesPolicy': async ({ sprite }) => {
    await expect(sprite.updateResourcesPolicy({ memory: { limitMB: 512 } })).rejects.toThrow(NOT_DONE);
  },
  'Sprite.deleteResourcesPolicy': async ({ sprite }) => await sprite.deleteResourcesPolicy(),
  'PortWatcher.connect': async ({ client, sprite }) => {
    const watcher = new PortWatcher(client, sprite.name);
    await watcher.connect();
    watcher.close();
  },
  'PortWatcher.next': {
    prepare: async ({ echoPort }) => {
      const port = await echoPort();
      return ({ sprite }) => seePort(sprite, port);
    },
  },
  'PortWatcher.close': async ({ sprite }) => {
    const watcher = await sprite.watchPorts();
    watcher.close();
    await drain(watcher);
  },
  'PortWatcher.isClosed': async ({ sprite }) => {
    const watcher = await sprite.watchPorts();
    expect(watcher.isClosed()).toBe(false);
    watcher.close();
    expect(watcher.isClosed()).toBe(true);
  },
  'PortWatcher.@@asyncIterator': async ({ sprite }) => {
    for await (const { type } of await sprite.watchPorts()) {
      expect(type).toBe('port_list');
      break;
    }
  },
};
