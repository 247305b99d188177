// The checksum of a whole database image, computed only for the pages that changed since the last image.
import { type Checksum, emptyChecksum, toChecksumText, toPageChecksum, xorChecksum } from './litefs-checksum.ts';

export interface PageChecksums {
  /** The checksum of `image`, whose length is a multiple of `pageSize`. Keeps `image` until the next call. */
  update(image: Buffer, pageSize: number): string;
}

export function createPageChecksums(): PageChecksums {
  let known: Buffer = Buffer.alloc(0);
  let knownPageSize = 0;
  let pages: Checksum[] = [];

  return {
    update(image, pageSize) {
      if (pageSize !== knownPageSize) pages = [];
      const count = image.length / pageSize;
      const next: Checksum[] = [];
      let sum = emptyChecksum;
      for (let index = 0; index < count; index += 1) {
        const page = image.subarray(index * pageSize, (index + 1) * pageSize);
        const before = pages[index];
        const same = before !== undefined && page.equals(known.subarray(index * pageSize, (index + 1) * pageSize));
        const checksum = same ? before : toPageChecksum(index + 1, page);
        next.push(checksum);
        sum = xorChecksum(sum, checksum);
      }
      known = image;
      knownPageSize = pageSize;
      pages = next;
      return toChecksumText(sum);
    },
  };
}
