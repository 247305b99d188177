// The process of a service that was asked for just now: the stream of a short `duration` may end before there is one.
import type { Sprite } from '@fly/sprites';
import { eventually } from '../eventually.ts';

export async function runningPid(sprite: Sprite, name: string): Promise<number> {
  return await eventually(async () => {
    const { state } = await sprite.getService(name);
    return state?.status === 'running' && state.pid;
  });
}
