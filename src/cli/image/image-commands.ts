// `remora image …`: what virtual machines boot from, on the machine of the platform.
import type { Command, Flag } from '../command.ts';
import { jsonFlag } from '../json-flag.ts';

const dir: Flag = { type: 'string', value: 'DIR', summary: "the platform's directory (REMORA_PLATFORM_DIR)" };

export const imageKind = ['image', 'build, import, list, show, delete: what virtual machines boot from'] as const;

export const imageCommands: readonly Command[] = [
  {
    name: 'image build',
    group: 'platform',
    inner: true,
    summary: "make an image of Debian's packages and this agent, as root",
    operands: '[NAME]',
    count: [0, 1],
    flags: {
      dir,
      kernel: { type: 'string', value: 'SERIES', summary: 'series of the kernel: 6.12, or 6.1 (6.12)' },
      suite: { type: 'string', value: 'SUITE', summary: 'release of Debian (bookworm)' },
      size: { type: 'string', value: 'MB', summary: 'size of the root disk; only what is written takes room (4096)' },
      package: {
        type: 'string',
        value: 'NAME',
        multiple: true,
        summary: 'a package of Debian beside those that it needs',
      },
      add: { type: 'string', value: 'DIR', summary: 'files to put over those of the machine' },
      cache: { type: 'string', value: 'DIR', summary: 'what is kept between builds (REMORA_IMAGE_CACHE)' },
      fresh: { type: 'boolean', summary: 'fetch the packages again' },
    },
    notes: [
      'Needs debootstrap, busybox-static, cpio, kmod, xz-utils, e2fsprogs, qemu-utils and qemu-system-x86, on an x86-64 processor. NAME is `default` unless given.',
      'The agent is that of the tree which runs this command. The new image is booted once before it counts.',
    ],
    load: async () => ({ run: (await import('./build.ts')).build }),
  },
  {
    name: 'image import',
    group: 'platform',
    inner: true,
    summary: 'take a kernel, an initial ramdisk and a disk as an image; one without an agent is refused',
    operands: 'NAME',
    count: [1, 1],
    flags: {
      dir,
      kernel: { type: 'string', value: 'FILE', summary: 'a Linux kernel for x86 (bzImage)' },
      initrd: { type: 'string', value: 'FILE', summary: 'its initial ramdisk' },
      disk: {
        type: 'string',
        value: 'FILE',
        summary: 'qcow2 or raw, ext4 without partitions, standing on no other file',
      },
      append: {
        type: 'string',
        value: 'TEXT',
        summary: "the kernel's command line; that of built images unless given",
      },
      cpu: { type: 'string', value: 'MODEL', summary: "the value of QEMU's -cpu (max)" },
    },
    load: async () => ({ run: (await import('./manage.ts')).importFiles }),
  },
  {
    name: 'image list',
    group: 'platform',
    inner: true,
    summary: 'the images of the platform',
    operands: '',
    count: [0, 0],
    flags: { dir, json: jsonFlag },
    load: async () => ({ run: (await import('./manage.ts')).list }),
  },
  {
    name: 'image show',
    group: 'platform',
    inner: true,
    summary: 'what an image is made of, as JSON',
    operands: 'NAME',
    count: [1, 1],
    flags: { dir },
    load: async () => ({ run: (await import('./manage.ts')).show }),
  },
  {
    name: 'image delete',
    group: 'platform',
    inner: true,
    summary: 'delete an image; machines that were made from it keep their files',
    operands: 'NAME',
    count: [1, 1],
    flags: { dir },
    load: async () => ({ run: (await import('./manage.ts')).remove }),
  },
];
