// The volumes of a platform that does not run: none can be made, enlarged or deleted.
import { RemoraError } from '../../core/remora-error.ts';
import type { VolumeStore } from '../machines/records/volume-store.ts';
import type { VolumeService } from './volume-service.ts';

/** Every method throws `invalid_state`, but `removeAll` for an organization without volumes. */
export function createOfflineVolumeService(volumes: Pick<VolumeStore, 'listOf'>): VolumeService {
  const refuse = () => {
    const message = 'no platform serves this directory, and volumes are changed by a platform that serves; start it';
    return Promise.reject(new RemoraError('invalid_state', message));
  };
  return {
    carryOn: () => Promise.resolve(),
    create: refuse,
    extend: refuse,
    remove: refuse,
    async removeAll(organization_id) {
      if ((await volumes.listOf(organization_id)).length > 0) await refuse();
    },
  };
}
