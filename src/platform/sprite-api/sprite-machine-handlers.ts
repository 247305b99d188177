// The operations on the machine of a sprite: restarting it, and asking how it is.
import type { spriteMachineOperations } from '../../contract/sprite-machine.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Place } from '../machines/access/place.ts';
import type { MachineService } from '../machines/moves/machine-service.ts';
import type { MachineStore } from '../machines/records/machine-store.ts';
import type { SpriteService } from '../sprites/sprite-service.ts';
import type { Principal } from '../tokens/principal.ts';
import { type CheckSpriteDeps, checkSprite } from './check-sprite.ts';

export interface SpriteMachineDeps extends CheckSpriteDeps {
  readonly sprites: Pick<SpriteService, 'findFor'>;
  readonly machines: Pick<MachineStore, 'findBySprite'>;
  readonly machineService: Pick<MachineService, 'restart'>;
  readonly place: Place;
  /** The id of this platform process. */
  readonly host: string;
}

export function createSpriteMachineHandlers(
  deps: SpriteMachineDeps,
): Handlers<typeof spriteMachineOperations, Principal> {
  async function findFor(principal: Principal, name: string) {
    const sprite = await deps.sprites.findFor(principal, name);
    const machine = await deps.machines.findBySprite(sprite.id);
    if (machine === undefined) throw new RemoraError('not_found', 'there is no such sprite');
    return { sprite, machine };
  }

  return {
    async restartSprite({ principal, params, signal }) {
      const { sprite, machine } = await findFor(principal, params.name);
      await deps.place(machine.id, signal, () => deps.machineService.restart(machine.id));
      return { sprite_name: sprite.name, machine_id: machine.id, message: 'the machine was restarted' };
    },
    async checkSprite({ principal, params }) {
      const { sprite, machine } = await findFor(principal, params.name);
      const { host } = machine;
      if (machine.state === 'running' && host !== null && host !== deps.host) {
        const message = 'another platform process runs this machine; ask that one';
        throw new RemoraError('other_host', message, { details: { host } });
      }
      return await checkSprite(deps, sprite, machine);
    },
  };
}
