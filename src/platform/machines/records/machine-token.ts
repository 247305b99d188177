// The token that the agent of a machine starts with.
import type { Secret } from '../../../core/secret.ts';
import type { Storage } from '../../storage/storage.ts';
import { createTokenStore } from '../../tokens/token-store.ts';
import { createMachineStore } from './machine-store.ts';

/** Makes a token for the machine and revokes those of its earlier instances. */
export async function createMachineToken(
  storage: Pick<Storage, 'transaction'>,
  machine_id: string,
  now_ms: number,
): Promise<Secret> {
  return await storage.transaction(async (sql) => {
    const machine = await createMachineStore(sql).find(machine_id);
    if (machine === undefined) throw new Error(`there is no machine ${machine_id}`);
    const { organization_id, sprite_id } = machine;
    const tokens = createTokenStore(sql);
    await tokens.revokeOfMachine(machine_id);
    return (await tokens.create({ organization_id, sprite_id, machine_id }, now_ms)).text;
  });
}
