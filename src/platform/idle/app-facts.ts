// What is known of the machines of an app that run in one region, for the decision on one of them.
import type { MachineRow } from '../machines/records/machine-row.ts';
import type { IdleSettings } from './idle-settings.ts';
import type { IdleStore } from './idle-store.ts';
import type { AppFacts } from './judge-app.ts';
import { readServices } from './sleep-rule.ts';
import type { Traffic } from './traffic.ts';

export interface AppFactsDeps {
  readonly store: Pick<IdleStore, 'listRunningOf' | 'countElsewhere'>;
  readonly traffic: Pick<Traffic, 'inFlight'>;
}

/** The machines that are not read are those of other hosts. */
export async function readAppFacts(
  { store, traffic }: AppFactsDeps,
  { app, region }: Pick<MachineRow, 'app' | 'region'>,
  { round_ms = Infinity }: Pick<IdleSettings, 'round_ms'>,
): Promise<AppFacts> {
  const [rows, elsewhere] = await Promise.all([store.listRunningOf(app, region), store.countElsewhere(app, region)]);
  const here = rows.map(({ id, config }) => ({ id, inFlight: traffic.inFlight(id), ...readServices(config) }));
  return { here, elsewhere, round_ms };
}
