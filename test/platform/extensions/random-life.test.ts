// Extensions changed at random, at a provider whose answers go wrong at random, by processes that are killed at random: at rest the
// provider has exactly the resources that the records say, and each app exactly the values of the extensions that are ready in it.
import { expect, test } from 'vitest';
import { createDice, type Dice } from '../../support/dice.ts';
import {
  APPS,
  type ExtensionWorld,
  type Life,
  openExtensionWorld,
} from '../../support/extension-model/extension-world.ts';
import { mishaps } from '../../support/extension-model/model-provider.ts';

const NAMES = ['one', 'two', 'shared-a', 'shared-b'] as const;
const SEEDS = ['1', '2a', '3f7', '4b1d', '5eed', '6c0ffee', '7a57e', '8badf00d', '9ea2'];
const STEPS = 25;

/** Refusals are answers too: of a name that is taken, an extension that is not there, a variable that another one has. */
async function change(life: Life, { organization, tell }: ExtensionWorld, dice: Dice): Promise<void> {
  const name = dice.pick(NAMES);
  const app = dice.pick([...APPS, null]);
  const { service } = life;
  switch (dice.pick(['create', 'create', 'update', 'region', 'delete', 'retry', 'tell', 'tell of the end'])) {
    case 'create':
      return void (await life.create(name, app === null ? {} : { app }));
    case 'update':
      return void (await service.update(organization, name, { app }));
    case 'region':
      return void (await service.update(organization, name, { primary_region: dice.pick(['fra', 'ams', 'lhr']) }));
    case 'delete':
      return void (await service.delete(organization, name));
    case 'retry':
      return void (await service.retry(organization, name));
    case 'tell':
      return await tell(life, name, 'resource.updated');
    default:
      return await tell(life, name, 'resource.deleted');
  }
}

/** Lets the world rest: what has failed or could not be told is tried again until it works, unless another one has the variable. */
async function settle(world: ExtensionWorld, life: Life, seed: string): Promise<void> {
  await world.sendAgain(life);
  for (let round = 0; round < 3; round += 1) {
    for (const row of await world.rest()) {
      if (row.state === 'deleted' || (row.error === null && row.state === 'ready')) continue;
      await life.service.retry(world.organization, row.id).catch(() => undefined);
    }
  }
  for (const row of await world.agree(`seed ${seed}`)) {
    if (row.state === 'failed') expect(row.error?.code, `seed ${seed}: ${row.name}`).toBe('secret_conflict');
  }
}

test.each(SEEDS)(
  'seed %s',
  async (seed) => {
    const dice = createDice(seed);
    const world = await openExtensionWorld();
    let life = await world.live();
    for (let step = 0; step < STEPS; step += 1) {
      const isCalm = dice.chance(40);
      world.provider.go(() => (isCalm ? 'none' : dice.pick(mishaps)));
      world.provider.poll(dice.chance(30) ? 2 : 0);
      if (dice.chance(40)) life.gate.arm(1 + dice.below(60));
      const changes = Array.from({ length: 1 + dice.below(2) }, () => change(life, world, dice).catch(() => undefined));
      const pause = new Promise((resolve) => setTimeout(resolve, dice.below(60)));
      await Promise.race([Promise.all([...changes, pause]), life.gate.over]);
      if (life.gate.isDead) {
        await life.kill();
        life = await world.live();
      } else life.gate.arm(undefined);
    }
    world.provider.go(() => 'none');
    world.provider.poll(0);
    await settle(world, life, seed);
    for (const row of await world.rows()) {
      if (row.state !== 'deleted') await life.service.delete(world.organization, row.id);
    }
    await world.agree(`seed ${seed}, at the end`);
    await life.end();
    expect(world.provider.resources.size).toBe(0);
  },
  120_000,
);
