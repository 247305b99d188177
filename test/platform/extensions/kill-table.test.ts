// A platform process killed at each step of each change of an extension, with a provider that answers, that has not heard the request, or
// that has and whose answer is lost: under the next process there is one resource or none, as the record says, and its values are in
// the app or in none.
import { expect, test } from 'vitest';
import {
  APPS,
  type ExtensionWorld,
  type Life,
  openExtensionWorld,
} from '../../support/extension-model/extension-world.ts';
import type { Mishap } from '../../support/extension-model/model-provider.ts';

type Act = (life: Life, world: ExtensionWorld, name: string) => Promise<unknown>;

interface Change {
  /** What is there before, made in peace. */
  readonly before: Act;
  readonly act: Act;
  /** How often the status is to be asked for. */
  readonly polls?: number;
}

const nothing: Act = async () => undefined;
const create: Act = (life, _world, name) => life.create(name, { app: 'web' });
const remove: Act = (life, { organization }, name) => life.service.delete(organization, name);

const told =
  (action: 'resource.updated' | 'resource.deleted'): Act =>
  (life, { tell }, name) =>
    tell(life, name, action);

const changes: Readonly<Record<string, Change>> = {
  create: { before: nothing, act: create },
  'create and poll': { before: nothing, act: create, polls: 2 },
  'move to another app': {
    before: create,
    act: (life, { organization }, name) => life.service.update(organization, name, { app: 'worker' }),
  },
  'change the region': {
    before: create,
    act: (life, { organization }, name) => life.service.update(organization, name, { primary_region: 'fra' }),
  },
  refresh: {
    before: create,
    act: async (life, { rows }, name) => {
      const row = (await rows()).find((each) => each.name === name);
      if (row !== undefined) await life.service.refresh(row);
    },
  },
  delete: { before: create, act: remove },
  'webhook of a change': { before: create, act: told('resource.updated') },
  'webhook of a removal': { before: create, act: told('resource.deleted') },
};

/** A kill between two of them makes no difference: what is on disk, and what the provider knows, are the same. */
const STEP = /^(?:commit|(?:before|after) \w+ at the provider|after (?:transaction|INSERT|UPDATE|DELETE))/;

/** Dies at the `at`-th step; never when undefined. Returns what it has done until then. */
async function killAt(world: ExtensionWorld, name: string, change: Change, at: number | undefined, side: Mishap) {
  const { before, act, polls = 0 } = change;
  const { provider, organization, agree } = world;
  provider.go(() => 'none');
  provider.poll(0);
  const first = await world.live();
  await before(first, world, name);
  await agree(`before ${name}`);
  await first.end();

  let isFirst = true;
  provider.poll(polls);
  provider.go(() => {
    const mishap = isFirst ? side : 'none';
    isFirst = false;
    return mishap;
  });
  const life = await world.live();
  life.gate.arm(at);
  // A dead process never answers.
  const done = act(life, world, name).then(() => agree(name));
  await Promise.race([done, life.gate.over]);
  const wasKilled = life.gate.isDead;
  // One that has come to its end ends well, and not at a step of its end.
  if (!wasKilled) life.gate.arm(undefined);
  const { steps } = life;
  if (wasKilled) await life.kill();
  else await life.end();
  const where = `${name}, killed at ${wasKilled ? steps.at(-1) : 'no step'}, ${side}`;

  const next = await world.live();
  await world.sendAgain(next);
  const row = (await agree(where)).find((each) => each.name === name && each.state !== 'deleted');
  expect(['ready', undefined], where).toContain(row?.state);
  if (row === undefined) await next.create(name, { app: APPS[0] });
  await agree(where);
  await next.service.delete(organization, name);
  await agree(where);
  await next.end();
  expect(provider.resources.size, where).toBe(0);
  return steps;
}

test.each(Object.entries(changes))(
  '%s',
  async (what, change) => {
    const kills = await Promise.all(
      (['none', 'lost', 'cut'] as const).map(async (side) => {
        const world = await openExtensionWorld();
        const name = what.replaceAll(' ', '-');
        const steps = await killAt(world, name, change, undefined, side);
        const at = steps.flatMap((step, index) => (STEP.test(step) ? [index + 1] : []));
        for (const index of at) await killAt(world, `${name}-${index}`, change, index, side);
        return at.length;
      }),
    );
    // Each has at least a write and the end of its transaction.
    for (const count of kills) expect(count).toBeGreaterThanOrEqual(2);
  },
  120_000,
);
