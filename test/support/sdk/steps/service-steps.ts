// What `Sprite` does with services, and the streams of their events.
import type { ServiceLogStream, Sprite } from '@fly/sprites';
import { expect } from 'vitest';
import { eventually } from '../../eventually.ts';
import { drain, type Steps } from '../sdk-stack.ts';

const config = { cmd: 'sh', args: ['-c', 'echo up; exec sleep 600'] };
const typesOf = async (stream: ServiceLogStream) => (await drain(stream)).map(({ type }) => type);
const ensure = async (sprite: Sprite) => await drain(await sprite.createService('one', config, '1s'));
const logs = (sprite: Sprite) => sprite.getServiceLogs('one', { lines: 10, duration: '0s' });

export const serviceSteps: Steps = {
  'Sprite.createService': async ({ sprite }) => {
    // What a busy machine prints after the second that is followed comes with the next try, which stops the first process.
    const types = await eventually(async () => {
      const seen = await typesOf(await sprite.createService('one', config, '1s'));
      return seen.includes('stdout') && seen;
    });
    expect(types.filter((type) => !/^stopp/.test(type))).toEqual(['started', 'stdout', 'complete']);
  },
  'Sprite.listServices': async ({ sprite }) => {
    expect((await sprite.listServices()).map(({ name }) => name)).toContain('one');
  },
  'Sprite.getService': async ({ sprite }) => {
    const { name, cmd } = await sprite.getService('one');
    expect([name, cmd]).toEqual(['one', 'sh']);
    await eventually(async () => (await sprite.getService('one')).state?.status === 'running');
  },
  'Sprite.stopService': async ({ sprite }) => {
    expect(await typesOf(await sprite.stopService('one', '5s'))).toEqual(['stopping', 'stopped', 'complete']);
  },
  'Sprite.startService': async ({ sprite }) => {
    expect(await typesOf(await sprite.startService('one', '1s'))).toContain('started');
  },
  'Sprite.restartService': async ({ sprite }) => {
    expect(await typesOf(await sprite.restartService('one', '1s'))).toContain('complete');
  },
  'Sprite.getServiceLogs': async ({ sprite }) => {
    expect((await drain(await logs(sprite))).map(({ data }) => data)).toContainEqual(expect.stringContaining('up'));
  },
  'Sprite.signalService': async ({ sprite }) => {
    await sprite.signalService('one', 'SIGTERM');
    await expect(sprite.signalService('none', 'SIGTERM')).rejects.toThrow('Service not found');
  },
  'ServiceLogStream.next': async ({ sprite }) => {
    await ensure(sprite);
    const stream = await logs(sprite);
    expect(await stream.next()).toMatchObject({ type: 'stdout' });
    stream.close();
  },
  'ServiceLogStream.processAll': async ({ sprite }) => {
    const types: string[] = [];
    await (await logs(sprite)).processAll(({ type }) => void types.push(type));
    expect(types.at(-1)).toBe('complete');
  },
  'ServiceLogStream.close': async ({ sprite }) => {
    const stream = await logs(sprite);
    stream.close();
    expect(await stream.next()).toBeNull();
  },
  'ServiceLogStream.@@asyncIterator': async ({ sprite }) => {
    expect(await typesOf(await logs(sprite))).toContain('complete');
  },
  'Sprite.deleteService': async ({ sprite }) => {
    await sprite.deleteService('one');
    await expect(sprite.getService('one')).rejects.toThrow('Service not found');
  },
};
