// Gives a link to an owner: the link itself, held by a descriptor, and nothing that came into its place.
import { chown } from 'node:fs/promises';
import { FileError, named } from '../file-error.ts';
import { pin } from '../tree/pin.ts';
import type { LinkOwner } from '../tree/rights.ts';
import type { Spot } from '../tree/spot.ts';

/** Throws FileError; for a spot that holds no link, or a link that has several names. */
export async function giveLink(spot: Spot, { uid, gid }: LinkOwner): Promise<void> {
  await using link = await pin(spot);
  const { stat } = link;
  if (!stat.isSymbolicLink() || stat.nlink > 1) {
    throw new FileError('EPERM', spot.path, 'something else came into the place of the link');
  }
  if (stat.uid === uid && stat.gid === gid) return;
  // The descriptor leads to the link, which is not followed any further.
  await named(spot.path, chown(link.at, uid, gid));
}
