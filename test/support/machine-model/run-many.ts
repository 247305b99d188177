// Many runs of the model, several at once, on one database; the first that goes wrong is made as short as it goes wrong still.
import { createOrganizationStore } from '../../../src/platform/organizations/organization-store.ts';
import { openSqliteStorage } from '../../../src/platform/storage/sqlite-storage.ts';
import { memoryDir } from '../memory-dir.ts';
import { drawPlan, type Plan } from './model-plan.ts';
import { type ModelStorage, runPlan } from './run-model.ts';

export interface ModelRuns {
  /** One run of each. */
  readonly seeds: readonly string[];
  readonly atOnce: number;
}

const SHORTEN_MS = 60_000;

/** Resolves with the shortest run that goes wrong, and undefined when none does. `REMORA_MODEL_SEED` runs one that was printed. */
export async function runModel({ seeds, atOnce }: ModelRuns): Promise<string | undefined> {
  const printed = process.env.REMORA_MODEL_SEED;
  return await runPlans((printed === undefined ? seeds : [printed]).map(drawPlan), atOnce);
}

/** What `runModel` does, with plans that are given. */
export async function runPlans(plans: readonly Plan[], atOnce: number): Promise<string | undefined> {
  await using storage = openSqliteStorage(memoryDir());
  const { id: organization_id } = await createOrganizationStore(storage).create('acme', 1);
  const place: ModelStorage = { storage, organization_id };
  const left = [...plans];
  let failed: { readonly plan: Plan; readonly said: string } | undefined;
  const worker = async () => {
    for (let plan = left.pop(); plan !== undefined && failed === undefined; plan = left.pop()) {
      const said = await runPlan(place, plan);
      if (said !== undefined) failed ??= { plan, said };
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return failed === undefined ? undefined : await shorten(place, failed.plan, failed.said);
}

/** Leaves out one step after the other, as long as what remains goes wrong too. */
async function shorten(place: ModelStorage, plan: Plan, said: string): Promise<string> {
  let [shortest, words] = [plan, said];
  const end = performance.now() + SHORTEN_MS;
  for (let index = shortest.steps.length - 1; index >= 0 && performance.now() < end; index -= 1) {
    const shorter = { ...shortest, steps: shortest.steps.toSpliced(index, 1) };
    const again = await runPlan(place, shorter);
    if (again !== undefined) [shortest, words] = [shorter, again];
  }
  return words;
}
