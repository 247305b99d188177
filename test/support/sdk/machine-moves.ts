// The machine of a sprite, brought into a state through the machines API, as its owner would.
import { z } from 'zod';
import { eventually } from '../eventually.ts';

export interface MachineMoves {
  readonly id: string;
  readonly state: () => Promise<string>;
  /** Resolves when the machine is in this state. */
  readonly wait: (state: string) => Promise<void>;
  /** Brings it there by the calls that lead there. */
  readonly bring: (state: 'running' | 'suspended' | 'stopped') => Promise<void>;
}

export interface MachineOwner {
  readonly url: string;
  readonly token: string;
  readonly app: string;
  readonly sprite: string;
}

const machines = z.array(z.object({ id: z.string(), sprite: z.string() }));
const machine = z.object({ state: z.string() });
const actions = { running: 'start', suspended: 'suspend', stopped: 'stop' } as const;

export async function openMachineMoves({ url, token, app, sprite }: MachineOwner): Promise<MachineMoves> {
  const call = (method: string, path: string) =>
    fetch(`${url}/v1/apps/${app}/machines${path}`, { method, headers: { authorization: `Bearer ${token}` } });
  const id = machines.parse(await (await call('GET', '')).json()).find((one) => one.sprite === sprite)?.id ?? '';
  /** One machine may be read five times a second. */
  const state = () =>
    eventually(async () => {
      const answer = await call('GET', `/${id}`);
      return answer.status === 429 ? undefined : machine.parse(await answer.json()).state;
    });
  /** One action for one machine may be asked for once a second. */
  const post = (action: string) =>
    eventually(async () => {
      const answer = await call('POST', `/${id}/${action}`);
      if (answer.status === 429) return false;
      if (answer.status !== 200) throw new Error(`${action}: ${await answer.text()}`);
      return true;
    });
  const wait = async (wanted: string) => {
    const answer = await call('GET', `/${id}/wait?state=${wanted}`);
    if (answer.status !== 200) throw new Error(`the machine is not ${wanted}: ${await answer.text()}`);
  };
  return {
    id,
    state,
    wait,
    async bring(wanted) {
      const found = await state();
      if (found === wanted) return;
      // What does not run cannot be suspended.
      if (wanted === 'suspended' && found !== 'running') await post(actions.running);
      await post(actions[wanted]);
      await wait(wanted);
    },
  };
}
